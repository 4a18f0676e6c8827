//! The one place where a code becomes a status, and a refusal the error envelope.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::{Code, Refusal};
use protocol::errors::{ErrorBody, ErrorDetail};

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// What a door answers instead of a result.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) Refusal);

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<service::Error> for Failure {
    fn from(error: service::Error) -> Self {
        if error.code() == Code::Internal {
            tracing::error!(%error, "an operation failed");
        }
        Self(error.into_refusal())
    }
}

pub(crate) fn status(code: Code) -> StatusCode {
    match code {
        Code::CommandDenied | Code::InvalidKey | Code::InvalidPath | Code::InvalidRequest => StatusCode::BAD_REQUEST,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::BudgetExceeded | Code::PriceUnknown => StatusCode::PAYMENT_REQUIRED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::AgentNotFound
        | Code::ApprovalNotFound
        | Code::BindingNotFound
        | Code::ItemNotFound
        | Code::KeyNotFound
        | Code::MemberNotFound
        | Code::NodeNotFound
        | Code::PairingNotFound
        | Code::ProjectNotFound
        | Code::PublicationNotFound
        | Code::RouteNotFound
        | Code::SessionNotFound
        | Code::SkillNotFound
        | Code::SnapshotNotFound
        | Code::StandingRuleNotFound
        | Code::TaskNotFound
        | Code::TokenNotFound
        | Code::ToolCallNotFound
        | Code::ToolNotFound
        | Code::UserNotFound
        | Code::WorkspaceNotFound => StatusCode::NOT_FOUND,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::AgentExists
        | Code::AgentHasData
        | Code::AlreadyDecided
        | Code::AmbiguousProject
        | Code::AmbiguousSession
        | Code::BindingExists
        | Code::CallMovedOn
        | Code::Cancelled
        | Code::DefinedInFile
        | Code::DigestMismatch
        | Code::HopLimit
        | Code::Interrupted
        | Code::ItemExists
        | Code::NodeAmbiguous
        | Code::NodeExists
        | Code::NodeOffline
        | Code::NodeRefused
        | Code::ProjectExists
        | Code::PublicationChanged
        | Code::RulesConflict
        | Code::SessionArchived
        | Code::SessionExists
        | Code::SnapshotExists
        | Code::StaleBase
        | Code::StoreFull
        | Code::TaskEnded
        | Code::UserExists
        | Code::VersionConflict
        | Code::WorkspaceExists
        | Code::WorkspaceHasData => StatusCode::CONFLICT,
        Code::Expired => StatusCode::GONE,
        Code::PayloadTooLarge | Code::ValueTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::ForeignHost => StatusCode::MISDIRECTED_REQUEST,
        Code::IdempotencyMismatch => StatusCode::UNPROCESSABLE_ENTITY,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::ModelUnavailable | Code::PluginUnavailable | Code::QueueFull | Code::Unavailable => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Code::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
        // How a turn failed; told inside the answer about a task that was taken.
        Code::OutputIncomplete | Code::ProviderFailed | Code::ProviderRefused | Code::StepLimit => {
            StatusCode::BAD_GATEWAY
        }
        Code::ProviderTimeout | Code::TaskOverdue => StatusCode::GATEWAY_TIMEOUT,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Refusal { code, message, details } = self.0;
        let seconds = details.get("retry_after_ms").and_then(|ms| ms.as_u64()).map_or(1, |ms| ms.div_ceil(1000).max(1));
        let body = ErrorBody { error: ErrorDetail { code: code.as_str().to_owned(), message, details } };
        let mut response = (status(code), Json(body)).into_response();
        let headers = response.headers_mut();
        if matches!(code, Code::QueueFull | Code::Unavailable | Code::RateLimited) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if code == Code::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
