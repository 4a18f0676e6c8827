//! What plugins may ask of the house: whether it is there, and nothing else. They may say that their tools changed.

use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientResult, ErrorCode, ErrorData, Implementation, InitializeRequestParams,
    ServerNotification, ServerRequest,
};
use rmcp::service::{NotificationContext, RequestContext, Service};
use std::sync::Arc;
use tokio::sync::Notify;

/// The house as a plugin sees it.
pub(crate) struct House {
    pub(crate) tools_changed: Arc<Notify>,
}

impl Service<RoleClient> for House {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            // Models, people and folders are the house's, not a plugin's.
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client takes no requests", None)),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
            self.tools_changed.notify_one();
        }
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let itself = Implementation::new("longhouse", env!("CARGO_PKG_VERSION"));
        InitializeRequestParams::new(ClientCapabilities::default(), itself)
    }
}
