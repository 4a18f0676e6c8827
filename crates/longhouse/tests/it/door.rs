//! The way to a server: requests about shared context and others, and the events of a stream.

use super::binary::post;
use serde_json::Value;
use std::time::Duration;

/// The way to a server.
pub(super) struct Door {
    agent: ureq::Agent,
    url: String,
    token: String,
}

/// There is no server any more.
#[derive(Debug)]
pub(super) struct Gone;

impl Door {
    pub(super) fn new(url: &str, token: &str) -> Self {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = config.timeout_global(Some(Duration::from_secs(20))).build().into();
        Self { agent, url: url.to_owned(), token: token.to_owned() }
    }

    pub(super) fn ask(&self, session: &str, body: &Value) -> Result<(u16, Value), Gone> {
        let path = format!("/sessions/{session}/shared_context");
        post(&self.agent, &self.url, &self.token, &path, body).map_err(|_| Gone)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<(u16, Value), Gone> {
        post(&self.agent, &self.url, &self.token, path, body).map_err(|_| Gone)
    }

    pub(super) fn get(&self, path: &str) -> Result<Value, Gone> {
        let request = self.agent.get(format!("{}{path}", self.url));
        let mut answer = request.header("authorization", format!("Bearer {}", self.token)).call().map_err(|_| Gone)?;
        answer.body_mut().read_json().map_err(|_| Gone)
    }

    /// The status and the body, if there is one.
    pub(super) fn delete(&self, path: &str) -> Result<(u16, Value), Gone> {
        let request = self.agent.delete(format!("{}{path}", self.url));
        let mut answer = request.header("authorization", format!("Bearer {}", self.token)).call().map_err(|_| Gone)?;
        Ok((answer.status().as_u16(), answer.body_mut().read_json().unwrap_or(Value::Null)))
    }

    /// The session's events from the first to the one at which `last` says stop.
    pub(super) fn events(&self, session: &str, last: impl Fn(&Value) -> bool) -> Vec<(u64, Value)> {
        self.stream(&format!("/sessions/{session}/events"), last)
    }

    /// The events of any stream from the first to the one at which `last` says stop.
    pub(super) fn stream(&self, path: &str, last: impl Fn(&Value) -> bool) -> Vec<(u64, Value)> {
        use std::io::BufRead;
        let request = self.agent.get(format!("{}{path}", self.url)).header("last-event-id", "0");
        let stream = request.header("authorization", format!("Bearer {}", self.token)).call().expect("a stream");
        let (mut events, mut id) = (Vec::new(), 0);
        for line in std::io::BufReader::new(stream.into_body().into_reader()).lines() {
            let line = line.expect("the stream goes on");
            if let Some(number) = line.strip_prefix("id: ") {
                id = number.parse().unwrap();
            } else if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).unwrap();
                let done = last(&data);
                events.push((id, data));
                if done {
                    break;
                }
            }
        }
        events
    }
}
