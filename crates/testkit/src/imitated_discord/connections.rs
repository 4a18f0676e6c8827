//! Connections to the imitated gateway: hello, introduction or resumption, heartbeats, events.

use super::ImitatedDiscord;
use super::gateway::{Gateway, Order, session_id};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_websockets::{CloseCode, Message, ServerBuilder, WebSocketStream};

pub(super) async fn listen(listener: TcpListener, gateway: Arc<Gateway>) {
    // They end with the listener.
    let mut connections = JoinSet::new();
    let told = Arc::new(AtomicUsize::new(0));
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, gateway.clone(), told.clone()));
    }
}

struct Connection {
    socket: WebSocketStream<TcpStream>,
    gateway: Arc<Gateway>,
    /// How many events of the session were sent, by whichever connection.
    told: Arc<AtomicUsize>,
    /// How many of them this connection has sent; none before it belongs to a session.
    sent: Option<usize>,
}

async fn serve(stream: TcpStream, gateway: Arc<Gateway>, told: Arc<AtomicUsize>) {
    stream.set_nodelay(true).ok();
    let Ok((_, socket)) = ServerBuilder::new().accept(stream).await else { return };
    let mut orders = gateway.connect();
    if gateway.settings().hangs_up {
        return;
    }
    let mut session = gateway.watch();
    let mut connection = Connection { socket, gateway, told, sent: None };
    let interval = connection.gateway.settings().interval_ms;
    connection.send(&json!({ "op": 10, "d": { "heartbeat_interval": interval } })).await;
    loop {
        let is_open = tokio::select! {
            frame = connection.socket.next() => match frame {
                Some(Ok(message)) => connection.hear(&message).await,
                _ => false,
            },
            Some(order) = orders.recv() => connection.obey(order).await,
            Ok(()) = session.changed() => connection.tell().await,
        };
        if !is_open {
            return;
        }
    }
}

impl Connection {
    async fn send(&mut self, frame: &Value) -> bool {
        self.send_text(frame.to_string()).await
    }

    async fn send_text(&mut self, text: String) -> bool {
        self.socket.send(Message::text(text)).await.is_ok()
    }

    async fn close(&mut self, code: u16) -> bool {
        let code = CloseCode::try_from(code).expect("a code");
        let _ = self.socket.send(Message::close(Some(code), "")).await;
        // The other side answers before the connection ends.
        while let Some(Ok(_)) = self.socket.next().await {}
        false
    }

    async fn hear(&mut self, message: &Message) -> bool {
        let Some(text) = message.as_text() else { return !message.is_close() };
        let frame: Value = serde_json::from_str(text).expect("bots send JSON");
        self.gateway.frames.send_modify(|frames| frames.push(frame.clone()));
        let settings = self.gateway.settings().clone();
        let expected = format!("Bot {}", ImitatedDiscord::TOKEN);
        match (frame["op"].as_u64(), settings.refusal) {
            (Some(1), _) if settings.is_mute => true,
            (Some(1), _) => self.send(&json!({ "op": 11 })).await,
            (Some(2 | 6), Some(code)) => self.close(code).await,
            (Some(2 | 6), None) if frame["d"]["token"] != expected.as_str() => self.close(4004).await,
            (Some(2), None) => self.begin().await,
            (Some(6), None) => self.resume(&frame["d"]).await,
            _ => self.close(4001).await,
        }
    }

    async fn begin(&mut self) -> bool {
        let number = self.gateway.begin_session(self.told.swap(0, Ordering::SeqCst));
        let ready = json!({
            "v": 10, "user": { "id": ImitatedDiscord::BOT, "username": "long", "bot": true, "discriminator": "0" },
            "guilds": [], "session_id": session_id(number), "resume_gateway_url": self.gateway.url,
            "shard": [0, 1], "application": { "id": ImitatedDiscord::BOT, "flags": 0 },
        });
        self.sent = Some(0);
        self.send(&json!({ "op": 0, "s": 1, "t": "READY", "d": ready })).await && self.tell().await
    }

    async fn resume(&mut self, asked: &Value) -> bool {
        if !self.gateway.is_resumable(asked["session_id"].as_str().unwrap_or_default()) {
            return self.send(&json!({ "op": 9, "d": false })).await;
        }
        self.sent = Some(asked["seq"].as_u64().unwrap_or(1).saturating_sub(1) as usize);
        let is_open = self.tell().await;
        let last = self.sent.unwrap_or(0) + 1;
        is_open && self.send(&json!({ "op": 0, "s": last, "t": "RESUMED", "d": {} })).await
    }

    /// Sends the events that this connection has not sent.
    async fn tell(&mut self) -> bool {
        while let Some(sent) = self.sent {
            let next = self.gateway.watch().borrow().events.get(sent).cloned();
            let Some((name, event)) = next else { break };
            let sequence = sent + 2;
            if !self.send_text(format!(r#"{{"op":0,"s":{sequence},"t":"{name}","d":{event}}}"#)).await {
                return false;
            }
            self.sent = Some(sent + 1);
            self.told.fetch_max(sent + 1, Ordering::SeqCst);
        }
        true
    }

    async fn obey(&mut self, order: Order) -> bool {
        match order {
            Order::Reconnect => self.send(&json!({ "op": 7, "d": null })).await,
            Order::Invalidate(is_resumable) => {
                self.sent = None;
                self.send(&json!({ "op": 9, "d": is_resumable })).await
            }
            Order::Cut => false,
            Order::Close(code) => self.close(code).await,
            Order::Frame(text) => self.send_text(text).await,
        }
    }
}
