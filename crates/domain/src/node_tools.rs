//! The tools that a node offers on a person's machine: their names, what each needs, and their requests. What they do is
//! the node's business.

mod globs;
mod requests;

pub use globs::Glob;
pub use requests::{CommandRequest, Mode, NodeRequest, WriteRequest};

/// What a file may hold that is read or written.
pub const CONTENT_LARGEST_BYTES: usize = 10 * 1024 * 1024;
/// What is kept of each stream of a command.
pub const OUTPUT_LARGEST_BYTES: usize = 256 * 1024;
pub const ENTRIES_MOST: usize = 1_000;
pub const COMMAND_LONGEST_S: u64 = 300;
pub const COMMAND_DEFAULT_S: u64 = 30;
/// How long anything but a command may take.
pub const FILES_LONGEST_S: u64 = 30;
/// Of the arguments as they are read here; part of what is approved.
pub const SCHEMA_VERSION: u32 = 1;

/// Tells how a call stands; for doors whose callers cannot wait for a person. No node makes it.
pub const CALL_STATUS: &str = "tool_call_status";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeTool {
    ReadFile,
    WriteFile,
    ListDirectory,
    EditFile,
    DeleteFile,
    ExecuteCommand,
}

/// What others are told instead of the name of a tool that somebody's agent used on a machine.
const UNNAMED: &str = "node_tool";

/// A tool's name for those whom its call does not concern: that there was a call, but not what was done on a machine.
pub fn name_for_others(tool: &str) -> &str {
    if NodeTool::parse(tool).is_some() { UNNAMED } else { tool }
}

impl NodeTool {
    pub const ALL: [Self; 6] =
        [Self::ReadFile, Self::WriteFile, Self::ListDirectory, Self::EditFile, Self::DeleteFile, Self::ExecuteCommand];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadFile => "tool_read_file",
            Self::WriteFile => "tool_write_file",
            Self::ListDirectory => "tool_list_directory",
            Self::EditFile => "tool_edit_file",
            Self::DeleteFile => "tool_delete_file",
            Self::ExecuteCommand => "tool_execute_command",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == text)
    }

    /// What policy has to allow.
    pub fn capability(self) -> &'static str {
        match self {
            Self::ReadFile => "filesystem.read",
            Self::ListDirectory => "filesystem.list",
            Self::WriteFile | Self::EditFile | Self::DeleteFile => "filesystem.write",
            Self::ExecuteCommand => "exec.sandboxed",
        }
    }

    pub fn is_command(self) -> bool {
        self == Self::ExecuteCommand
    }

    /// Whether it leaves everything as it was.
    pub fn only_looks(self) -> bool {
        matches!(self, Self::ReadFile | Self::ListDirectory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::NODE_CAPABILITIES;

    #[test]
    fn every_tool_is_found_by_its_name_and_needs_what_nodes_offer() {
        for tool in NodeTool::ALL {
            assert_eq!(NodeTool::parse(tool.as_str()), Some(tool));
            assert!(NODE_CAPABILITIES.contains(&tool.capability()), "{tool:?}");
            assert_eq!(tool.is_command(), tool.capability() == "exec.sandboxed", "{tool:?}");
            assert_eq!(tool.only_looks(), !tool.is_command() && tool.capability() != "filesystem.write", "{tool:?}");
        }
        for unknown in ["", "read_file", "tool_read_file ", "TOOL_READ_FILE", "filesystem.read"] {
            assert_eq!(NodeTool::parse(unknown), None, "{unknown:?}");
        }
    }
}
