//! Every error code a caller can meet. The HTTP status of each lives in `api::errors`, nowhere else.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($variant:ident = $wire:literal),+ $(,)?) => {
        /// A stable, published error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code { $(#[serde(rename = $wire)] $variant),+ }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $wire),+ }
            }
        }
    };
}

codes! {
    AgentExists = "AGENT_EXISTS",
    AgentHasData = "AGENT_HAS_DATA",
    AgentNotFound = "AGENT_NOT_FOUND",
    AlreadyDecided = "ALREADY_DECIDED",
    AmbiguousProject = "AMBIGUOUS_PROJECT",
    AmbiguousSession = "AMBIGUOUS_SESSION",
    ApprovalNotFound = "APPROVAL_NOT_FOUND",
    BindingExists = "BINDING_EXISTS",
    BindingNotFound = "BINDING_NOT_FOUND",
    BudgetExceeded = "BUDGET_EXCEEDED",
    CallMovedOn = "CALL_MOVED_ON",
    Cancelled = "CANCELLED",
    CommandDenied = "COMMAND_DENIED",
    DefinedInFile = "DEFINED_IN_FILE",
    DigestMismatch = "DIGEST_MISMATCH",
    Expired = "EXPIRED",
    Forbidden = "FORBIDDEN",
    ForeignHost = "FOREIGN_HOST",
    HopLimit = "HOP_LIMIT",
    IdempotencyMismatch = "IDEMPOTENCY_MISMATCH",
    Internal = "INTERNAL",
    Interrupted = "INTERRUPTED",
    InvalidKey = "INVALID_KEY",
    InvalidPath = "INVALID_PATH",
    InvalidRequest = "INVALID_REQUEST",
    ItemExists = "ITEM_EXISTS",
    ItemNotFound = "ITEM_NOT_FOUND",
    KeyNotFound = "KEY_NOT_FOUND",
    MemberNotFound = "MEMBER_NOT_FOUND",
    MethodNotAllowed = "METHOD_NOT_ALLOWED",
    ModelUnavailable = "MODEL_UNAVAILABLE",
    NodeAmbiguous = "NODE_AMBIGUOUS",
    NodeExists = "NODE_EXISTS",
    NodeNotFound = "NODE_NOT_FOUND",
    NodeOffline = "NODE_OFFLINE",
    NodeRefused = "NODE_REFUSED",
    OutputIncomplete = "OUTPUT_INCOMPLETE",
    PairingNotFound = "PAIRING_NOT_FOUND",
    PayloadTooLarge = "PAYLOAD_TOO_LARGE",
    PluginUnavailable = "PLUGIN_UNAVAILABLE",
    PriceUnknown = "PRICE_UNKNOWN",
    ProjectExists = "PROJECT_EXISTS",
    ProjectNotFound = "PROJECT_NOT_FOUND",
    ProviderFailed = "PROVIDER_FAILED",
    ProviderRefused = "PROVIDER_REFUSED",
    ProviderTimeout = "PROVIDER_TIMEOUT",
    PublicationChanged = "PUBLICATION_CHANGED",
    PublicationNotFound = "PUBLICATION_NOT_FOUND",
    QueueFull = "QUEUE_FULL",
    RateLimited = "RATE_LIMITED",
    RouteNotFound = "ROUTE_NOT_FOUND",
    RulesConflict = "RULES_CONFLICT",
    SessionArchived = "SESSION_ARCHIVED",
    SessionExists = "SESSION_EXISTS",
    SessionNotFound = "SESSION_NOT_FOUND",
    SkillNotFound = "SKILL_NOT_FOUND",
    SnapshotExists = "SNAPSHOT_EXISTS",
    SnapshotNotFound = "SNAPSHOT_NOT_FOUND",
    StaleBase = "STALE_BASE",
    StandingRuleNotFound = "STANDING_RULE_NOT_FOUND",
    StepLimit = "STEP_LIMIT",
    StorageFull = "STORAGE_FULL",
    StoreFull = "STORE_FULL",
    TaskEnded = "TASK_ENDED",
    TaskNotFound = "TASK_NOT_FOUND",
    TaskOverdue = "TASK_OVERDUE",
    TokenNotFound = "TOKEN_NOT_FOUND",
    ToolCallNotFound = "TOOL_CALL_NOT_FOUND",
    ToolNotFound = "TOOL_NOT_FOUND",
    Unauthenticated = "UNAUTHENTICATED",
    Unavailable = "UNAVAILABLE",
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE",
    UserExists = "USER_EXISTS",
    UserNotFound = "USER_NOT_FOUND",
    ValueTooLarge = "VALUE_TOO_LARGE",
    VersionConflict = "VERSION_CONFLICT",
    WorkspaceExists = "WORKSPACE_EXISTS",
    WorkspaceHasData = "WORKSPACE_HAS_DATA",
    WorkspaceNotFound = "WORKSPACE_NOT_FOUND",
}
