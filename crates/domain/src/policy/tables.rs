//! The policy of the published example and of its edges, as tables.

use super::{Question, Source, decide};
use crate::capabilities::ToolSet;
use crate::ids::{UserId, WorkspaceId};
use crate::platform_tools;
use crate::roles::{Role, RoleRules};
use crate::rules::{HouseRules, Plugin, Rules};
use crate::workspaces::{ToolRules, WorkspaceSettings};

fn workspace(allow: &[&str], deny: &[&str]) -> WorkspaceSettings {
    let tools = ToolRules { allow: ToolSet::of(allow), deny: ToolSet::of(deny) };
    WorkspaceSettings { tools: Some(tools), ..Default::default() }
}

fn id(name: &str) -> WorkspaceId {
    match name {
        "personal" => WorkspaceId::personal(&UserId::parse("sean").unwrap()),
        name => WorkspaceId::parse(name).unwrap(),
    }
}

/// The example of the gateway's description, with the plugins that it needs.
fn rules() -> Rules {
    let plugin = |caps: &[&str]| Plugin { caps: ToolSet::of(caps), ..Default::default() };
    let plugins = [
        ("kubernetes", plugin(&["k8s.*"])),
        ("terraform", plugin(&["terraform.*"])),
        ("calendar", plugin(&["calendar.*"])),
        ("household", plugin(&["shopping.*", "recipes.list", "exec.host", "workspace_write"])),
    ];
    let nurse = RoleRules { tools: Some(ToolSet::of(&["shopping.*", "recipes.*"])), ..Default::default() };
    Rules {
        house: HouseRules {
            plugins: plugins.map(|(name, plugin)| (name.to_owned(), plugin)).into(),
            roles: [("nurse".to_owned(), nurse)].into(),
            ..Default::default()
        },
        workspaces: [
            (id("homelab"), workspace(&["exec.sandboxed", "k8s.*", "terraform.*"], &[])),
            (
                id("family"),
                workspace(&["calendar.*", "shopping.*", "recipes.*", "exec.host"], &["exec.*", "filesystem.*"]),
            ),
            (id("open"), workspace(&["*"], &[])),
            (id("new"), WorkspaceSettings::default()),
        ]
        .into(),
    }
}

fn ask(
    rules: &Rules,
    place: &str,
    role: &str,
    tool: &str,
    source: Source<'_>,
) -> (bool, String, Option<String>, String) {
    let (workspace, role) = (id(place), Role::from(role.to_owned()));
    let question = Question { tool, source, workspace: &workspace, role: &role, is_member: true, agent_tools: None };
    let decision = decide(rules, &question);
    let rule = decision.rule().map(str::to_owned);
    (decision.is_allowed(), decision.layer().as_str().to_owned(), rule, decision.detail())
}

#[test]
fn the_published_example_decides_as_it_reads() {
    let rules = rules();
    let cases = [
        ("homelab", "admin", "k8s.get", "ALLOW workspace k8s.*"),
        ("homelab", "admin", "k8s.pods.list", "ALLOW workspace k8s.*"),
        ("homelab", "admin", "k8s", "DENY plugin -"),
        ("homelab", "admin", "k8sx", "DENY plugin -"),
        ("homelab", "admin", "terraform.plan", "ALLOW workspace terraform.*"),
        ("homelab", "admin", "exec.sandboxed", "ALLOW workspace exec.sandboxed"),
        ("homelab", "member", "exec.sandboxed", "ALLOW workspace exec.sandboxed"),
        ("homelab", "admin", "exec.network", "DENY workspace -"),
        ("homelab", "admin", "filesystem.read", "DENY workspace -"),
        ("homelab", "admin", "calendar.list", "DENY workspace -"),
        ("homelab", "guest", "k8s.get", "DENY role -"),
        ("family", "member", "calendar.list", "ALLOW workspace calendar.*"),
        ("family", "guest", "calendar.list", "ALLOW workspace calendar.*"),
        ("family", "guest", "shopping.add", "DENY role -"),
        ("family", "member", "shopping.add", "ALLOW workspace shopping.*"),
        ("family", "member", "recipes.list", "ALLOW workspace recipes.*"),
        ("family", "member", "recipes.delete", "DENY plugin -"),
        ("family", "member", "k8s.get", "DENY workspace -"),
        ("family", "admin", "filesystem.read", "DENY workspace -"),
        ("family", "admin", "exec.host", "DENY deny exec.*"),
        ("family", "admin", "exec.network", "DENY workspace -"),
        ("family", "nurse", "shopping.add", "ALLOW workspace shopping.*"),
        ("family", "nurse", "calendar.list", "DENY role -"),
        ("family", "gone", "shopping.add", "DENY role roles"),
        ("open", "member", "exec.host", "DENY deny exec.host"),
        ("open", "admin", "exec.host", "ALLOW workspace *"),
        ("open", "admin", "exec.network", "ALLOW workspace *"),
        ("open", "guest", "exec.network", "DENY role -"),
        ("open", "admin", "nobody.has_it", "DENY plugin -"),
        ("new", "admin", "k8s.get", "DENY workspace -"),
        ("absent", "admin", "k8s.get", "DENY workspace -"),
        ("personal", "member", "filesystem.read", "ALLOW workspace filesystem.*"),
        ("personal", "member", "exec.sandboxed", "ALLOW workspace exec.sandboxed"),
        ("personal", "member", "exec.network", "DENY workspace -"),
        ("personal", "member", "k8s.get", "DENY workspace -"),
        ("personal", "guest", "filesystem.read", "DENY role -"),
        ("new", "gone", "workspace_write", "ALLOW platform -"),
        ("new", "guest", "skill_read", "ALLOW platform -"),
        ("new", "guest", "workspace_evil", "DENY plugin -"),
    ];
    for (place, role, tool, expected) in cases {
        let (allowed, layer, rule, detail) = ask(&rules, place, role, tool, Source::Any);
        let got = format!("{} {layer} {}", if allowed { "ALLOW" } else { "DENY" }, rule.as_deref().unwrap_or("-"));
        assert_eq!(got, expected, "{tool} in {place} by {role}: {detail}");
    }
}

#[test]
fn a_source_offers_what_it_was_granted_and_nothing_of_its_neighbours() {
    let rules = rules();
    let cases = [
        (Source::Plugin("kubernetes"), "k8s.get", true),
        (Source::Plugin("calendar"), "k8s.get", false),
        (Source::Plugin("unknown"), "k8s.get", false),
        (Source::Plugin("kubernetes"), "exec.sandboxed", false),
        (Source::Plugin("kubernetes"), "exec.network", false),
        (Source::Node, "exec.sandboxed", true),
        (Source::Node, "exec.host", false),
        (Source::Node, "k8s.get", false),
        (Source::Platform, "k8s.get", false),
        (Source::Platform, "workspace_write", true),
        (Source::Node, "workspace_write", false),
    ];
    for (source, tool, expected) in cases {
        assert_eq!(ask(&rules, "open", "admin", tool, source).0, expected, "{tool} from {source:?}");
    }
    let borrowed = ask(&rules, "homelab", "admin", "workspace_write", Source::Plugin("household"));
    assert_eq!((borrowed.0, borrowed.1.as_str()), (false, "workspace"), "a name does not make it the platform's");
}

#[test]
fn who_is_no_member_may_use_nothing_and_an_agents_list_only_narrows() {
    let (rules, homelab) = (rules(), id("homelab"));
    let question = |tool| Question {
        tool,
        source: Source::Any,
        workspace: &homelab,
        role: &Role::Admin,
        is_member: true,
        agent_tools: None,
    };
    for tool in ["k8s.get", "workspace_read", "nobody.has_it"] {
        let decision = decide(&rules, &Question { is_member: false, ..question(tool) });
        let got = (decision.is_allowed(), decision.layer().as_str(), decision.rule());
        assert_eq!(got, (false, "workspace", Some("members")), "{tool}");
    }
    let own = ["workspace_*".to_owned(), "k8s.get".to_owned(), "calendar.*".to_owned()];
    let cases = [
        ("workspace_read", true, "platform"),
        ("shared_context", false, "agent"),
        ("k8s.get", true, "workspace"),
        ("k8s.delete", false, "agent"),
        ("calendar.list", false, "workspace"),
    ];
    for (tool, allowed, layer) in cases {
        let decision = decide(&rules, &Question { agent_tools: Some(&own), ..question(tool) });
        assert_eq!((decision.is_allowed(), decision.layer().as_str()), (allowed, layer), "{tool}");
        let none = decide(&rules, &Question { agent_tools: Some(&[]), ..question(tool) });
        assert!(!none.is_allowed(), "{tool}: an empty list is a list");
    }
}

#[test]
fn the_platforms_tools_are_on_for_every_member_whatever_the_rules() {
    for tool in platform_tools::ALL {
        for role in ["admin", "member", "guest", "gone"] {
            let (allowed, layer, rule, _) = ask(&Rules::default(), "new", role, tool.name, Source::Any);
            assert_eq!((allowed, layer.as_str(), rule), (true, "platform", None), "{} {role}", tool.name);
        }
    }
}

#[test]
fn a_sentence_says_what_to_change() {
    let rules = rules();
    let cases = [
        (
            "homelab",
            "admin",
            "k8s.get",
            "plugin `kubernetes` offers `k8s.*`, workspace `homelab` allows `k8s.*`, role `admin` may use `*`, and nothing \
             denies `k8s.get`",
        ),
        ("family", "member", "k8s.get", "nothing in `tools.allow` of workspace `family` stands for `k8s.get`"),
        ("homelab", "guest", "k8s.get", "nothing in `tools` of role `guest` stands for `k8s.get`"),
        ("family", "gone", "shopping.add", "the person's role, `gone`, is not defined any more"),
        (
            "family",
            "admin",
            "exec.host",
            "`tools.deny` of workspace `family` has `exec.*`, which stands for `exec.host`",
        ),
        ("open", "member", "exec.host", "`deny` of role `member` has `exec.host`, which stands for `exec.host`"),
        ("open", "member", "x.y", "no plugin has `x.y` in its `caps`, and nodes do not offer it"),
        ("open", "member", "skill_read", "`skill_read` is one of the platform's own tools, which are always on"),
    ];
    for (place, role, tool, expected) in cases {
        assert_eq!(ask(&rules, place, role, tool, Source::Any).3, expected);
    }
}
