//! The policy once more, written naively from its formula: lists of texts, no look-ups, no types of the real one. Chance
//! makes configurations, and both must say the same.

use super::{Layer, Question, Source, decide};
use crate::capabilities::{ToolPattern, ToolSet};
use crate::ids::{UserId, WorkspaceId};
use crate::roles::{Role, RoleRules};
use crate::rules::{HouseRules, Plugin, Rules};
use crate::workspaces::{ToolRules, WorkspaceSettings};
use std::collections::BTreeMap;

const CONFIGURATIONS: u64 = 100_000;
const WORDS: [&str; 5] = ["a", "b", "ab", "k8s", "exec"];
const FIXED: [&str; 9] = [
    "filesystem.read",
    "exec.sandboxed",
    "exec.network",
    "exec.host",
    "calendar.list",
    "workspace_write",
    "skill_read",
    "shared_context",
    "workspace_evil",
];

type Names = Vec<String>;

struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or(0) % bound
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn tool(&mut self) -> String {
        if self.once_in(3) {
            return FIXED[self.below(FIXED.len())].to_owned();
        }
        let parts: Vec<&str> = (0..=self.below(3)).map(|_| WORDS[self.below(WORDS.len())]).collect();
        parts.join(".")
    }

    fn pattern(&mut self) -> String {
        match self.below(6) {
            0 => "*".to_owned(),
            1 | 2 => format!("{}.*", self.tool()),
            3 => ["filesystem.*", "exec.*", "calendar.*"][self.below(3)].to_owned(),
            _ => self.tool(),
        }
    }

    fn patterns(&mut self, most: usize) -> Names {
        (0..self.below(most + 1)).map(|_| self.pattern()).collect()
    }

    fn maybe<T>(&mut self, made: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.once_in(3) { None } else { Some(made(self)) }
    }
}

/// A configuration and a question, as texts.
#[derive(Debug, Clone)]
struct Case {
    tool: String,
    /// `any`, `platform`, `node`, or a plugin's name.
    source: String,
    plugins: BTreeMap<String, Names>,
    workspace: String,
    is_member: bool,
    /// Of the workspace that is asked about.
    own: Option<(Names, Names)>,
    template: Option<(Names, Names)>,
    role: String,
    roles: BTreeMap<String, (Option<Names>, Option<Names>)>,
    agent: Option<Names>,
}

impl Case {
    fn by_chance(chance: &mut Chance) -> Self {
        let both =
            |chance: &mut Chance| (chance.patterns(4), if chance.once_in(2) { chance.patterns(2) } else { vec![] });
        let declared = |chance: &mut Chance| (chance.maybe(|c| c.patterns(3)), chance.maybe(|c| c.patterns(2)));
        Self {
            tool: chance.tool(),
            source: ["any", "any", "platform", "node", "one", "two", "gone"][chance.below(7)].to_owned(),
            plugins: ["one", "two"].map(|name| (name.to_owned(), chance.patterns(3))).into(),
            workspace: ["homelab", "homelab", "personal-usr_sean"][chance.below(3)].to_owned(),
            is_member: !chance.once_in(8),
            own: chance.maybe(both),
            template: chance.maybe(both),
            role: ["admin", "member", "guest", "ops", "lost"][chance.below(5)].to_owned(),
            roles: ["admin", "member", "ops"]
                .into_iter()
                .filter_map(|name| if chance.once_in(2) { None } else { Some((name.to_owned(), declared(chance))) })
                .collect(),
            agent: if chance.once_in(4) { Some(chance.patterns(3)) } else { None },
        }
    }

    fn rules(&self) -> Rules {
        let set = |names: &Names| -> ToolSet {
            names.iter().map(|name| ToolPattern::parse(name).unwrap()).collect::<Vec<_>>().into()
        };
        let settings = |both: &(Names, Names)| WorkspaceSettings {
            tools: Some(ToolRules { allow: set(&both.0), deny: set(&both.1) }),
            ..Default::default()
        };
        let role = |(tools, deny): &(Option<Names>, Option<Names>)| RoleRules {
            tools: tools.as_ref().map(set),
            deny: deny.as_ref().map(set),
            rights: None,
        };
        let plugin = |caps: &Names| Plugin { caps: set(caps), ..Default::default() };
        let house = HouseRules {
            roles: self.roles.iter().map(|(name, said)| (name.clone(), role(said))).collect(),
            plugins: self.plugins.iter().map(|(name, caps)| (name.clone(), plugin(caps))).collect(),
            personal: self.template.as_ref().map(settings).unwrap_or_default(),
            ..Default::default()
        };
        let own = self.own.iter().map(|both| (self.workspace(), settings(both))).collect();
        Rules { house, workspaces: own }
    }

    fn workspace(&self) -> WorkspaceId {
        if self.workspace.starts_with("personal") {
            WorkspaceId::personal(&UserId::parse("sean").unwrap())
        } else {
            WorkspaceId::parse(&self.workspace).unwrap()
        }
    }
}

fn has(names: &[String], tool: &str) -> bool {
    names.iter().any(|name| {
        let below = name.ends_with(".*") && tool.starts_with(name.trim_end_matches('*'));
        name == "*" || name == tool || below
    })
}

fn texts(names: &[&str]) -> Names {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What the formula says: whether, and the first layer that fails.
fn expected(case: &Case) -> (bool, &'static str) {
    let tool = case.tool.as_str();
    let platform = ["shared_context", "context_add", "context_search", "skill_read"].contains(&tool)
        || ["list", "read", "write", "delete", "publish"].iter().any(|verb| tool == format!("workspace_{verb}"));
    let node =
        ["filesystem.read", "filesystem.write", "filesystem.list", "exec.sandboxed", "exec.network"].contains(&tool);
    let plugin = |name: &str| case.plugins.get(name).is_some_and(|caps| has(caps, tool));
    let by_agent = case.agent.as_ref().is_none_or(|names| has(names, tool));
    if !case.is_member {
        return (false, "workspace");
    }
    if platform && (case.source == "any" || case.source == "platform") {
        return if by_agent { (true, "platform") } else { (false, "agent") };
    }
    let offered = match case.source.as_str() {
        "any" => node || plugin("one") || plugin("two"),
        "platform" => false,
        "node" => node,
        name => plugin(name),
    };
    let default = (texts(&["filesystem.*", "exec.sandboxed"]), vec![]);
    let personal = case.template.clone().unwrap_or(default);
    let fallback = if case.workspace == "homelab" { (vec![], vec![]) } else { personal };
    let (allow, deny) = case.own.clone().unwrap_or(fallback);
    let (built_tools, built_deny, exists) = match case.role.as_str() {
        "admin" => (texts(&["*"]), vec![], true),
        "member" => (texts(&["*"]), texts(&["exec.host"]), true),
        "guest" => (texts(&["calendar.*"]), vec![], true),
        name => (vec![], vec![], case.roles.contains_key(name)),
    };
    let (said_tools, said_deny) = case.roles.get(&case.role).cloned().unwrap_or_default();
    let (role_tools, role_deny) = (said_tools.unwrap_or(built_tools), said_deny.unwrap_or(built_deny));
    let layers = [
        (offered, "plugin"),
        (has(&allow, tool), "workspace"),
        (exists && has(&role_tools, tool), "role"),
        (!(has(&deny, tool) || has(&role_deny, tool)), "deny"),
        (by_agent, "agent"),
    ];
    layers.into_iter().find(|(holds, _)| !holds).map_or((true, "workspace"), |(_, layer)| (false, layer))
}

#[test]
fn the_policy_says_what_its_formula_says_whatever_the_configuration() {
    let mut chance = Chance(0x5eed_1e55_0b57_ac1e);
    let mut seen: BTreeMap<(bool, &str), u64> = BTreeMap::new();
    for _ in 0..CONFIGURATIONS {
        let case = Case::by_chance(&mut chance);
        let (rules, workspace, role) = (case.rules(), case.workspace(), Role::from(case.role.clone()));
        let source = match case.source.as_str() {
            "any" => Source::Any,
            "platform" => Source::Platform,
            "node" => Source::Node,
            name => Source::Plugin(name),
        };
        let question = Question {
            tool: &case.tool,
            source,
            workspace: &workspace,
            role: &role,
            is_member: case.is_member,
            agent_tools: case.agent.as_deref(),
        };
        let decision = decide(&rules, &question);
        let got = (decision.is_allowed(), decision.layer().as_str());
        assert_eq!(got, expected(&case), "{case:#?}");
        if matches!((decision.layer(), decision.is_allowed()), (Layer::Deny, _) | (Layer::Workspace, true)) {
            let rule = decision.rule().expect("a pattern decided").to_owned();
            assert!(has(&[rule], &case.tool), "{case:#?}");
        }
        *seen.entry(got).or_default() += 1;
    }
    // Chance that never meets a layer tests nothing of it.
    let outcomes = [
        (true, "platform"),
        (true, "workspace"),
        (false, "plugin"),
        (false, "workspace"),
        (false, "role"),
        (false, "deny"),
        (false, "agent"),
    ];
    for outcome in outcomes {
        assert!(seen.get(&outcome).is_some_and(|count| *count > CONFIGURATIONS / 500), "{outcome:?}: {seen:?}");
    }
}
