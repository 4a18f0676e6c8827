//! Plugins: MCP servers whose tools the house offers. What the file says of them, what their tools are called, which of
//! these may be called at all, and how a tool that changed is told from one that did not.
//!
//! Whatever a plugin says of itself is text of somebody else: it names, describes and hints, and never grants anything.

mod arguments;
mod environment;
mod fingerprints;
mod names;
mod offers;
mod showing;

pub use arguments::check_arguments;
pub use environment::is_passed;
pub use fingerprints::{Change, Fingerprint, compare};
pub use names::{Unnameable, tool_name};
pub use offers::{LeftOut, Listed, Obstacle, Offer, Offers, offers};
pub use showing::{DESCRIPTION_LONGEST_CHARACTERS, SCHEMA_LARGEST_BYTES, shown_text};

use crate::rules::Plugin;

/// A plugin as the file gives it; its name is the key it stands under.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginDeclaration {
    pub reach: Reach,
    /// What it may offer, and which of it waits for a person.
    pub rules: Plugin,
    /// The variables of the house's environment that it is given, by name, besides those that everything needs.
    pub environment: Vec<String>,
    pub timeouts: Timeouts,
}

/// How a plugin is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program that is started, with its arguments, and spoken to through its standard input and output.
    Command(Vec<String>),
    /// An address that is spoken to over streamable HTTP.
    Url(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From its start until its tools are known.
    pub start_s: u64,
    /// From asking for a call until its answer, waiting for a turn included.
    pub call_s: u64,
}

impl Timeouts {
    pub const SHORTEST_S: u64 = 1;
    pub const LONGEST_S: u64 = 3600;
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { start_s: 30, call_s: 60 }
    }
}

impl PluginDeclaration {
    /// Whether another declaration means the same running plugin: only then what runs can stay.
    pub fn runs_as(&self, other: &Self) -> bool {
        self.reach == other.reach && self.environment == other.environment
    }
}

impl Plugin {
    /// Whether a call waits for a person. What the plugin says of its tools, read-only or not, does not count.
    pub fn waits_for_a_person(&self, tool: &str) -> bool {
        self.approval.find(tool).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::ToolSet;

    #[test]
    fn which_calls_wait_for_a_person_is_what_the_file_says() {
        let cases: [(&[&str], &str, bool); 6] = [
            (&[], "k8s.get", false),
            (&["*"], "k8s.get", true),
            (&["k8s.delete"], "k8s.delete", true),
            (&["k8s.delete"], "k8s.get", false),
            (&["k8s.pods.*"], "k8s.pods.delete", true),
            (&["k8s.pods.*"], "k8s.podsx", false),
        ];
        for (approval, tool, expected) in cases {
            let plugin = Plugin { caps: ToolSet::of(&["k8s.*"]), approval: ToolSet::of(approval) };
            assert_eq!(plugin.waits_for_a_person(tool), expected, "{approval:?} {tool}");
        }
    }

    #[test]
    fn only_another_place_or_environment_is_another_running_plugin() {
        let one = PluginDeclaration {
            reach: Reach::Command(vec!["kubectl-mcp".to_owned()]),
            rules: Plugin::default(),
            environment: vec!["KUBECONFIG".to_owned()],
            timeouts: Timeouts::default(),
        };
        let rules = Plugin { caps: ToolSet::of(&["k8s.*"]), approval: ToolSet::of(&["*"]) };
        assert!(one.runs_as(&PluginDeclaration { rules, timeouts: Timeouts { start_s: 1, call_s: 1 }, ..one.clone() }));
        assert!(!one.runs_as(&PluginDeclaration { environment: vec![], ..one.clone() }));
        assert!(!one.runs_as(&PluginDeclaration { reach: Reach::Url("http://127.0.0.1/".to_owned()), ..one.clone() }));
    }
}
