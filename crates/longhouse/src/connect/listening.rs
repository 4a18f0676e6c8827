//! Hearing a stream of events for as long as it takes: it is opened again when it is cut, with longer and longer pauses while
//! that fails. What is heard is a hint; what to make of it is the listener's.

use crate::client::events::Events;
use anyhow::Result;
use axum::body::Body;
use std::convert::Infallible;
use std::time::Duration;

/// How long is waited for what.
#[derive(Clone, Copy)]
struct Pace {
    silent_longest: Duration,
    pause_first: Duration,
    pause_longest: Duration,
}

const USUAL: Pace = Pace {
    // Longer than a heartbeat of the stream: one that is silent for so long is cut, whatever the network says.
    silent_longest: Duration::from_secs(45),
    pause_first: Duration::from_millis(500),
    pause_longest: Duration::from_secs(30),
};

pub(super) trait Listener {
    async fn open(&self) -> Result<Body>;

    /// Nothing was heard until now, whatever was said.
    async fn opened(&self) -> Result<()>;

    async fn hear(&self, data: &str) -> Result<()>;

    /// It was cut, or something failed; it is tried again after the pause. An error is the end.
    fn lost(&self, why: Result<()>, pause: Duration) -> Result<()>;
}

/// Ends only when the listener does not want to try again.
pub(super) async fn listen(listener: &impl Listener) -> Result<Infallible> {
    listen_at(USUAL, listener).await
}

async fn listen_at(pace: Pace, listener: &impl Listener) -> Result<Infallible> {
    let mut pauses = Pauses::at(pace);
    loop {
        let heard = hear_all(listener, &mut pauses).await;
        listener.lost(heard, pauses.next)?;
        pauses.wait().await;
    }
}

/// Until the stream is cut.
async fn hear_all(listener: &impl Listener, pauses: &mut Pauses) -> Result<()> {
    let mut events = Events::new(listener.open().await?);
    listener.opened().await?;
    *pauses = Pauses::at(pauses.pace);
    while let Ok(Some(event)) = tokio::time::timeout(pauses.pace.silent_longest, events.next()).await {
        listener.hear(&event.data).await?;
    }
    Ok(())
}

/// Between one try and the next, each twice as long as the one before.
pub(super) struct Pauses {
    pace: Pace,
    pub(super) next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self::at(USUAL)
    }
}

impl Pauses {
    fn at(pace: Pace) -> Self {
        Self { pace, next: pace.pause_first }
    }

    pub(super) async fn wait(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(self.pace.pause_longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{anyhow, bail};
    use futures_util::StreamExt;
    use std::sync::Mutex;

    /// What each try meets, and what was told of it.
    struct Told {
        tries: Mutex<Vec<Try>>,
        lines: Mutex<Vec<String>>,
    }

    enum Try {
        Fails,
        /// It says this, and is cut.
        Says(&'static str),
        /// It says this, and nothing more.
        SaysAndIsSilent(&'static str),
        IsRefused,
    }

    impl Told {
        fn line(&self, text: String) {
            self.lines.lock().unwrap().push(text);
        }
    }

    impl Listener for Told {
        async fn open(&self) -> Result<Body> {
            let bytes = |text: &'static str| futures_util::stream::iter([Ok::<_, std::io::Error>(text)]);
            match self.tries.lock().unwrap().remove(0) {
                Try::Fails => bail!("away"),
                Try::IsRefused => bail!("refused"),
                Try::Says(text) => Ok(Body::from_stream(bytes(text))),
                Try::SaysAndIsSilent(text) => Ok(Body::from_stream(bytes(text).chain(futures_util::stream::pending()))),
            }
        }

        async fn opened(&self) -> Result<()> {
            self.line("opened".to_owned());
            Ok(())
        }

        async fn hear(&self, data: &str) -> Result<()> {
            self.line(data.to_owned());
            if data == "bad" { Err(anyhow!("cannot use it")) } else { Ok(()) }
        }

        fn lost(&self, why: Result<()>, pause: Duration) -> Result<()> {
            let told = why.as_ref().map_or_else(ToString::to_string, |()| "cut".to_owned());
            self.line(format!("{told} {}", pause.as_millis()));
            if told == "refused" { why } else { Ok(()) }
        }
    }

    #[tokio::test]
    async fn a_stream_that_is_cut_silent_or_refused_is_opened_again_until_there_is_no_use() {
        let tries = vec![
            Try::Fails,
            Try::Fails,
            Try::Says("data: one\n\ndata: two\n\n"),
            Try::SaysAndIsSilent("data: three\n\n"),
            Try::Says("data: bad\n\ndata: unheard\n\n"),
            Try::Fails,
            Try::IsRefused,
        ];
        let told = Told { tries: Mutex::new(tries), lines: Mutex::default() };
        let ms = Duration::from_millis;
        let pace = Pace { silent_longest: ms(200), pause_first: ms(1), pause_longest: ms(2) };
        assert_eq!(listen_at(pace, &told).await.unwrap_err().to_string(), "refused");
        let expected = [
            "away 1",
            "away 2",
            "opened",
            "one",
            "two",
            "cut 1",
            "opened",
            "three",
            "cut 1",
            "opened",
            "bad",
            "cannot use it 1",
            "away 2",
            "refused 2",
        ];
        assert_eq!(*told.lines.lock().unwrap(), expected);
    }
}
