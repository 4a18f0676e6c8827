//! A yes that stands for later calls: of just this call, or of this tool in a folder. A person's own, and never wider than
//! what was shown when it was made.

use crate::ids::{AgentId, ApprovalId, NodeId, ProjectId, SessionId, StandingRuleId, UserId};
use crate::node_tools::NodeTool;
use crate::paths::is_below;
use crate::times::Timestamp;
use crate::tool_calls::{Judgement, Preview};
use crate::{Refusal, Result};

#[derive(Debug, Clone, PartialEq)]
pub struct StandingRule {
    pub id: StandingRuleId,
    /// Whose yes it is, and on whose behalf the calls are made.
    pub user: UserId,
    pub place: RulePlace,
    pub tool: String,
    pub covers: Covers,
    pub lasts: Lasts,
    /// The approval it was made with.
    pub approval: ApprovalId,
    pub created_at: Timestamp,
}

/// Where a rule holds: one agent of one project on one machine.
#[derive(Debug, Clone, PartialEq)]
pub struct RulePlace {
    pub project: ProjectId,
    pub agent: AgentId,
    pub node: NodeId,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Covers {
    /// The very same arguments.
    Call { params: String },
    /// Everything below a folder, given below the root.
    Folder { folder: String },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Lasts {
    Session(SessionId),
    Until(Timestamp),
}

/// A call that a rule may stand for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub user: &'a UserId,
    pub place: &'a RulePlace,
    pub session: Option<&'a SessionId>,
    pub tool: &'a str,
    pub params: &'a str,
    /// The normal form of the path it is about, if it is about one.
    pub path: Option<&'a str>,
    pub is_command: bool,
    /// Whether it may use the network: then it is asked about each time, for a rule does not say that it was shown so.
    pub network: bool,
}

impl StandingRule {
    pub fn stands_for(&self, asked: Asked<'_>, now: Timestamp) -> bool {
        let lasts = match &self.lasts {
            Lasts::Session(session) => asked.session == Some(session),
            Lasts::Until(until) => now < *until,
        };
        let covers = match &self.covers {
            Covers::Call { params } => params == asked.params,
            Covers::Folder { folder } => !asked.is_command && asked.path.is_some_and(|path| is_below(path, folder)),
        };
        lasts
            && covers
            && !asked.network
            && self.user == *asked.user
            && self.place == *asked.place
            && self.tool == asked.tool
    }

    /// Whether the yes that was given to a call as it was shown is one to a call as it is found now. Never to something more
    /// dangerous; and a yes to just this change is one to the change of what was there then, not of what came since.
    pub fn is_as_wide_as(&self, shown: &Judgement, found: &Judgement) -> bool {
        let is_of_one_change = matches!(self.covers, Covers::Call { .. }) && changes_files(&self.tool);
        let (then, now) = (base_of(shown.preview.as_ref()), base_of(found.preview.as_ref()));
        found.risk <= shown.risk && (!is_of_one_change || (then.is_some() && then == now))
    }
}

/// Looks change nothing, and what a command changes nobody knows beforehand.
fn changes_files(tool: &str) -> bool {
    NodeTool::parse(tool).is_none_or(|tool| !tool.only_looks() && !tool.is_command())
}

/// Where a change leads, and the hash of what it would replace if there is something; none if that is not known.
fn base_of(preview: Option<&Preview>) -> Option<(Option<&str>, Option<&str>)> {
    let found = preview?;
    let base = match (found.exists?, found.base_sha256.as_deref()) {
        (true, None) => return None,
        (true, base) => base,
        (false, _) => None,
    };
    Some((found.path.as_deref(), base))
}

/// A folder can be remembered for tools that name a path in it, never for commands. A command that may use the network is
/// asked about each time.
pub fn check(covers: &Covers, (tool, path): (&str, Option<&str>), is_command: bool, network: bool) -> Result<()> {
    if network {
        let message = "a command that may use the network is asked about each time";
        return Err(Refusal::invalid_field("remember", message));
    }
    let Covers::Folder { folder } = covers else { return Ok(()) };
    if is_command {
        let message = "a command is remembered only as just this call: `kind` is `call`";
        return Err(Refusal::invalid_field("remember", message));
    }
    if path.is_some_and(|path| is_below(path, folder)) {
        return Ok(());
    }
    Err(Refusal::invalid_field("remember", format!("`folder` holds nothing that this call of {tool} is about")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(covers: Covers, lasts: Lasts) -> StandingRule {
        StandingRule {
            id: StandingRuleId::from_trusted("rul_1".into()),
            user: UserId::parse("sean").unwrap(),
            place: place("agt_1", "nod_1"),
            tool: "tool_write_file".into(),
            covers,
            lasts,
            approval: ApprovalId::from_trusted("apr_1".into()),
            created_at: Timestamp::from_ms(0),
        }
    }

    fn place(agent: &str, node: &str) -> RulePlace {
        RulePlace {
            project: ProjectId::from_trusted("prj_1".into()),
            agent: AgentId::from_trusted(agent.into()),
            node: NodeId::from_trusted(node.into()),
        }
    }

    #[test]
    fn a_rule_stands_for_what_it_says_and_for_nothing_else() {
        let (sean, mary) = (UserId::parse("sean").unwrap(), UserId::parse("mary").unwrap());
        let (one, two) = (SessionId::from_trusted("s1".into()), SessionId::from_trusted("s2".into()));
        let here = place("agt_1", "nod_1");
        let asked = Asked {
            user: &sean,
            place: &here,
            session: Some(&one),
            tool: "tool_write_file",
            params: "{\"path\":\"src/a\"}",
            path: Some("src/a"),
            is_command: false,
            network: false,
        };
        let folder = rule(Covers::Folder { folder: "src".into() }, Lasts::Session(one.clone()));
        let (agent, node) = (place("agt_2", "nod_1"), place("agt_1", "nod_2"));
        for (asked, expected) in [
            (asked, true),
            (Asked { path: Some("src/deep/er/a"), ..asked }, true),
            (Asked { path: Some("src-old/a"), ..asked }, false),
            (Asked { path: Some("other/src/a"), ..asked }, false),
            (Asked { path: None, ..asked }, false),
            (Asked { is_command: true, ..asked }, false),
            (Asked { user: &mary, ..asked }, false),
            (Asked { place: &agent, ..asked }, false),
            (Asked { place: &node, ..asked }, false),
            (Asked { session: Some(&two), ..asked }, false),
            (Asked { session: None, ..asked }, false),
            (Asked { tool: "tool_delete_file", ..asked }, false),
        ] {
            assert_eq!(folder.stands_for(asked, Timestamp::from_ms(1)), expected, "{asked:?}");
        }
        let until = Lasts::Until(Timestamp::from_ms(100));
        let call = rule(Covers::Call { params: asked.params.into() }, until);
        assert!(call.stands_for(asked, Timestamp::from_ms(99)));
        assert!(!call.stands_for(asked, Timestamp::from_ms(100)));
        assert!(!call.stands_for(Asked { params: "{}", ..asked }, Timestamp::from_ms(1)));
        assert!(!call.stands_for(Asked { network: true, ..asked }, Timestamp::from_ms(1)));
    }

    #[test]
    fn a_folder_is_never_remembered_for_commands_nor_for_what_lies_elsewhere() {
        let folder = Covers::Folder { folder: "src".into() };
        let call = Covers::Call { params: "{}".into() };
        assert!(check(&folder, ("tool_write_file", Some("src/a")), false, false).is_ok());
        assert!(check(&folder, ("tool_write_file", Some("b")), false, false).is_err());
        assert!(check(&folder, ("tool_execute_command", None), true, false).is_err());
        assert!(check(&call, ("tool_execute_command", None), true, false).is_ok());
        assert!(check(&call, ("tool_execute_command", None), true, true).is_err(), "with the network");
    }

    #[test]
    fn a_yes_to_one_change_stands_only_for_what_was_there_then_and_no_rule_for_more_risk() {
        use crate::tool_calls::Risk::{self, High, Low, Medium};
        let judged = |risk: Risk, preview: Option<Preview>| Judgement {
            risk,
            reasons: Vec::new(),
            digest: String::new(),
            policy_epoch: 1,
            expires_at: Timestamp::from_ms(1),
            network: false,
            preview,
            plugin: None,
            session_knew: None,
            for_deciders: false,
        };
        let found = |exists: Option<bool>, base: Option<&str>| {
            Some(Preview { exists, base_sha256: base.map(str::to_owned), ..Preview::default() })
        };
        let (none, one, two) = (found(Some(false), None), found(Some(true), Some("1")), found(Some(true), Some("2")));
        let elsewhere = Some(Preview { path: Some("b".into()), ..none.clone().unwrap() });
        let (call, folder) = (Covers::Call { params: "{}".into() }, Covers::Folder { folder: "src".into() });
        for (tool, covers, shown, now, expected) in [
            ("tool_write_file", &call, (Medium, &none), (Medium, &none), true),
            ("tool_write_file", &call, (Medium, &none), (Medium, &elsewhere), false),
            ("tool_write_file", &call, (High, &none), (High, &one), false),
            ("tool_write_file", &call, (High, &one), (High, &one), true),
            ("tool_write_file", &call, (High, &one), (Medium, &one), true),
            ("tool_write_file", &call, (Medium, &one), (High, &one), false),
            ("tool_write_file", &call, (High, &one), (High, &two), false),
            ("tool_write_file", &call, (High, &None), (High, &None), false),
            ("tool_write_file", &call, (High, &found(None, None)), (High, &found(None, None)), false),
            ("tool_edit_file", &call, (Medium, &one), (Medium, &two), false),
            ("tool_delete_file", &call, (High, &one), (High, &one), true),
            ("tool_delete_file", &call, (High, &one), (High, &two), false),
            ("tool_execute_command", &call, (High, &None), (High, &None), true),
            ("tool_read_file", &call, (Low, &None), (Low, &None), true),
            ("tool_read_file", &call, (Low, &None), (High, &None), false),
            ("tool_write_file", &folder, (Medium, &none), (Medium, &two), true),
            ("tool_write_file", &folder, (Medium, &none), (High, &two), false),
        ] {
            let rule = StandingRule { tool: tool.into(), ..rule(covers.clone(), Lasts::Until(Timestamp::from_ms(1))) };
            let is_as_wide = rule.is_as_wide_as(&judged(shown.0, shown.1.clone()), &judged(now.0, now.1.clone()));
            assert_eq!(is_as_wide, expected, "{tool} {shown:?} {now:?}");
        }
    }
}
