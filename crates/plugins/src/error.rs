//! What can go wrong with a call.

use domain::Code;
use std::time::Duration;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Texts are the house's own: never a value, an argument or a word of the plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It was away before anything was sent.
    #[error("plugin `{plugin}` is not available ({why}); nothing was run")]
    Unavailable { plugin: String, why: String },
    /// It went away while it had the call.
    #[error("plugin `{plugin}` went away during the call ({why}): it is not known whether it ran")]
    Interrupted { plugin: String, why: String },
    #[error("plugin `{plugin}` did not answer within {} s: it is not known whether it ran", within.as_secs())]
    Overdue { plugin: String, within: Duration },
    #[error("the call was cancelled")]
    Cancelled { was_sent: bool },
    #[error("too many calls wait for plugin `{plugin}`; nothing was run")]
    Busy { plugin: String },
    #[error("there is no such tool")]
    NoSuchTool,
    /// It is not the tool that the caller knows.
    #[error("the tool has changed since it was looked at; nothing was run")]
    Changed,
    #[error("the arguments are larger than {most} bytes")]
    ArgumentsTooLarge { most: usize },
}

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Self::Unavailable { .. } | Self::Interrupted { .. } | Self::Overdue { .. } => Code::PluginUnavailable,
            Self::Cancelled { .. } => Code::Cancelled,
            Self::Busy { .. } => Code::QueueFull,
            Self::NoSuchTool => Code::ToolNotFound,
            Self::Changed => Code::DigestMismatch,
            Self::ArgumentsTooLarge { .. } => Code::PayloadTooLarge,
        }
    }

    /// Whether something may have happened. Where this is false, nothing did.
    pub fn may_have_run(&self) -> bool {
        matches!(self, Self::Interrupted { .. } | Self::Overdue { .. } | Self::Cancelled { was_sent: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_a_code_and_says_whether_something_may_have_happened() {
        let (plugin, why) = ("p".to_owned(), "gone".to_owned());
        let cases = [
            (Error::Unavailable { plugin: plugin.clone(), why: why.clone() }, Code::PluginUnavailable, false),
            (Error::Interrupted { plugin: plugin.clone(), why }, Code::PluginUnavailable, true),
            (Error::Overdue { plugin: plugin.clone(), within: Duration::from_secs(60) }, Code::PluginUnavailable, true),
            (Error::Cancelled { was_sent: true }, Code::Cancelled, true),
            (Error::Cancelled { was_sent: false }, Code::Cancelled, false),
            (Error::Busy { plugin }, Code::QueueFull, false),
            (Error::NoSuchTool, Code::ToolNotFound, false),
            (Error::Changed, Code::DigestMismatch, false),
            (Error::ArgumentsTooLarge { most: 1 }, Code::PayloadTooLarge, false),
        ];
        for (error, code, may_have_run) in cases {
            assert_eq!((error.code(), error.may_have_run()), (code, may_have_run), "{error}");
            let says_unknown = error.to_string().contains("not known whether it ran");
            assert!(!says_unknown || may_have_run, "{error}");
        }
    }
}
