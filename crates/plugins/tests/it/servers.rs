//! Servers over HTTP: one on the official SDK that behaves, and one that answers whatever a test wants.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use domain::plugins::{PluginDeclaration, Reach};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What the well-behaved server was told; it outlives its connections.
#[derive(Clone, Default)]
pub(crate) struct Behaved {
    version: Arc<AtomicU32>,
    pub(crate) hanging: Arc<tokio::sync::Notify>,
    pub(crate) cancelled: Arc<tokio::sync::Notify>,
}

impl ServerHandler for Behaved {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object"}).as_object().cloned().unwrap_or_default();
        let description = format!("Version {}.", self.version.load(Ordering::SeqCst));
        let tool = |name| Tool::new(name, description.clone(), Arc::new(schema.clone()));
        Ok(ListToolsResult::with_all_items(["echo", "hang", "change"].map(tool).to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.name.as_ref() {
            "hang" => {
                self.hanging.notify_one();
                context.ct.cancelled().await;
                self.cancelled.notify_one();
            }
            "change" => {
                self.version.fetch_add(1, Ordering::SeqCst);
                context.peer.notify_tool_list_changed().await.unwrap();
            }
            _ => {}
        }
        let text = Value::Object(request.arguments.unwrap_or_default()).to_string();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// A server; dropped, it and its connections end.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Server {
    /// At the address of one that was there before, or a new one.
    pub(crate) async fn start(router: Router, at: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind(at.unwrap_or_else(|| ([127, 0, 0, 1], 0).into())).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, serving }
    }

    pub(crate) fn declared(&self) -> PluginDeclaration {
        let url = format!("http://{}/mcp", self.address);
        crate::scenes::declared(Reach::Url(url), &["odd.*"])
    }
}

/// On the official SDK.
pub(crate) fn behaved(server: &Behaved) -> Router {
    let server = server.clone();
    let manager = Arc::new(LocalSessionManager::default());
    let service =
        StreamableHttpService::new(move || Ok(server.clone()), manager, StreamableHttpServerConfig::default());
    Router::new().route_service("/mcp", service)
}

/// What an answer of the odd server is.
pub(crate) type Answer = Response<Body>;

/// How a call is answered, by its id.
pub(crate) type OnCall = fn(&Value) -> Answer;

pub(crate) fn json_answer(value: &Value) -> Answer {
    Response::builder().header("content-type", "application/json").body(Body::from(value.to_string())).unwrap()
}

pub(crate) fn status(code: u16) -> Answer {
    Response::builder().status(code).body(Body::empty()).unwrap()
}

/// Begins properly, lists `echo`, and answers calls as it is told to; all requests are kept.
#[derive(Clone)]
pub(crate) struct Odd {
    pub(crate) on_call: OnCall,
    pub(crate) requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Odd {
    pub(crate) fn new(on_call: OnCall) -> Self {
        Self { on_call, requests: Arc::default() }
    }

    pub(crate) fn router(&self) -> Router {
        let odd = self.clone();
        Router::new().fallback(move |request: Request<Body>| {
            let odd = odd.clone();
            async move {
                let path = request.uri().path().to_owned();
                let body: Bytes = axum::body::to_bytes(request.into_body(), 10_000_000).await.unwrap();
                odd.answer(path, &serde_json::from_slice(&body).unwrap_or_default())
            }
        })
    }

    fn answer(&self, path: String, message: &Value) -> Answer {
        self.requests.lock().unwrap().push((path, message.clone()));
        let id = &message["id"];
        let result = |result: Value| json_answer(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        match message["method"].as_str() {
            Some("initialize") => {
                let version = &message["params"]["protocolVersion"];
                let server = json!({"name": "odd", "version": "1"});
                result(json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}))
            }
            Some("tools/list") => result(json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})),
            Some("tools/call") => (self.on_call)(id),
            Some(_) => status(202),
            None => status(405),
        }
    }
}
