//! What a plugin lists, page by page, no more than anybody wants to read.

use crate::http::words_of;
use crate::options::Limits;
use domain::plugins::Listed;
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, ErrorCode, ListToolsRequest, ListToolsResult, PaginatedRequestParams, ServerResult, Tool,
};
use rmcp::service::{Peer, ServiceError};
use std::sync::Arc;

const PAGES_MOST: usize = 64;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tools {
    pub(crate) listed: Arc<Vec<Listed>>,
    /// There were more than are kept.
    pub(crate) is_cut: bool,
}

/// Asks for all tools.
pub(crate) async fn tools(peer: &Peer<RoleClient>, limits: &Limits) -> Result<Tools, String> {
    let mut kept = Kept { limits, listed: Vec::new(), bytes: 0 };
    let mut cursor = None;
    for _ in 0..PAGES_MOST {
        let page = match page(peer, cursor.take()).await {
            Ok(page) => page,
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => break,
            Err(error) => return Err(format!("its tools cannot be listed: {}", words(&error))),
        };
        cursor = page.next_cursor;
        if !page.tools.into_iter().all(|tool| kept.keep(tool)) {
            return Ok(kept.tools(true));
        }
        if cursor.is_none() {
            break;
        }
    }
    Ok(kept.tools(cursor.is_some()))
}

/// Not by the SDK's own function, which may answer from what it remembers.
async fn page(peer: &Peer<RoleClient>, cursor: Option<String>) -> Result<ListToolsResult, ServiceError> {
    let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
    let request = ListToolsRequest { method: Default::default(), params, extensions: Default::default() };
    match peer.send_request(ClientRequest::ListToolsRequest(request)).await? {
        ServerResult::ListToolsResult(page) => Ok(page),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

fn words(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => format!("it refused (code {})", error.code.0),
        ServiceError::TransportSend(error) => words_of(error),
        ServiceError::UnexpectedResponse => "its answer is in no known form".to_owned(),
        _ => "its connection ended".to_owned(),
    }
}

struct Kept<'a> {
    limits: &'a Limits,
    listed: Vec<Listed>,
    bytes: usize,
}

impl Kept<'_> {
    /// Whether there was room for it.
    fn keep(&mut self, tool: Tool) -> bool {
        let description = tool.description.map(|text| text.into_owned());
        let schema = Arc::unwrap_or_clone(tool.input_schema);
        let bytes = serde_json::to_vec(&schema).map_or(usize::MAX, |json| json.len());
        self.bytes = self.bytes.saturating_add(bytes).saturating_add(tool.name.len());
        self.bytes = self.bytes.saturating_add(description.as_ref().map_or(0, String::len));
        if self.listed.len() >= self.limits.tools || self.bytes > self.limits.listing_bytes {
            return false;
        }
        self.listed.push(Listed { name: tool.name.into_owned(), description, schema });
        true
    }

    fn tools(self, is_cut: bool) -> Tools {
        Tools { listed: Arc::new(self.listed), is_cut }
    }
}
