//! From a tree to what the house is told. Whatever is not well-formed is passed over here: `checks` and `meanings` have
//! said so, and then nothing of this is used.

use super::nodes::{Entry, Node};
use domain::capabilities::{ToolPattern, ToolSet};
use domain::ids::{UserId, WorkspaceId};
use domain::money::Micros;
use domain::plugins::{PluginDeclaration, Reach, Timeouts};
use domain::roles::{Right, Role, RoleRules};
use domain::rules::{
    AlertRules, ApprovalRules, ChannelRules, Declaration, DeclaredUser, DeclaredWorkspace, HouseRules, Models, Plugin,
    Price, Provider, ProviderKind, WorkerSpaceRules,
};
use domain::sessions::KeyConvention;
use domain::workspaces::{
    Binding, Budget, ChannelPlace, Identity, Reply, ToolRules, WorkspaceSettings, personal_defaults,
};
use std::collections::BTreeMap;

/// Everything but the skills, which are in folders of their own.
pub(crate) fn declaration(root: &Node) -> Declaration {
    Declaration {
        users: section(root, "users").iter().filter_map(user).collect(),
        workspaces: section(root, "workspaces").iter().filter_map(workspace).collect(),
        house: HouseRules {
            roles: section(root, "roles").iter().map(|entry| (entry.key.clone(), role(&entry.value))).collect(),
            plugins: section(root, "plugins").iter().map(|entry| (entry.key.clone(), plugin(&entry.value))).collect(),
            models: models(root),
            personal: root.get("personal").map(template).unwrap_or_default(),
            skills: BTreeMap::new(),
            worker_space: root.get("worker_space").map(worker_space).unwrap_or_default(),
            alerts: AlertRules { webhook: root.get("alerts").and_then(|alerts| text(alerts, "webhook")) },
            approvals: root.get("approvals").map(approvals).unwrap_or_default(),
            channels: channels(root),
        },
    }
}

/// A template that only denies something allows what is built in.
fn template(node: &Node) -> WorkspaceSettings {
    let mut template = settings(node);
    if let Some(tools) = &mut template.tools
        && node.at(&["tools", "allow"]).is_none()
    {
        tools.allow = personal_defaults().tools.unwrap_or_default().allow;
    }
    template
}

/// The names of a section with what is below each.
pub(crate) fn section<'a>(root: &'a Node, name: &str) -> &'a [Entry] {
    root.get(name).map(Node::entries).unwrap_or_default()
}

fn user(entry: &Entry) -> Option<(UserId, DeclaredUser)> {
    let role = entry.value.get("role").and_then(Node::text).unwrap_or("member");
    let identities = entry.value.get("identities").map(Node::entries).unwrap_or_default();
    let identity = |entry: &Entry| Some(Identity { channel: entry.key.clone(), id: entry.value.text()?.to_owned() });
    let declared = DeclaredUser {
        role: Role::from(role.to_owned()),
        identities: identities.iter().filter_map(identity).collect(),
    };
    Some((UserId::parse(&entry.key).ok()?, declared))
}

fn role(node: &Node) -> RoleRules {
    let rights = node.get("rights").map(|list| list.list().iter().filter_map(right).collect());
    RoleRules { tools: node.get("tools").map(tools), deny: node.get("deny").map(tools), rights }
}

fn right(node: &Node) -> Option<Right> {
    (node.text()? == "approve").then_some(Right::Approve)
}

pub(crate) fn tools(node: &Node) -> ToolSet {
    node.list().iter().filter_map(|pattern| ToolPattern::parse(pattern.text()?)).collect::<Vec<_>>().into()
}

fn plugin(node: &Node) -> Plugin {
    let approval = match node.get("approval") {
        Some(always) if always.text() == Some("always") => ToolSet::of(&["*"]),
        Some(list) => tools(list),
        None => ToolSet::default(),
    };
    Plugin { caps: node.get("caps").map(tools).unwrap_or_default(), approval }
}

/// How the plugins are reached, and what they are given.
pub(crate) fn plugins(root: &Node) -> BTreeMap<String, PluginDeclaration> {
    let declared = |entry: &Entry| {
        let node = &entry.value;
        let reach = match texts(node, "command") {
            Some(command) => Reach::Command(command),
            None => Reach::Url(text(node, "url")?),
        };
        let environment = texts(node, "env").unwrap_or_default();
        let timeouts = node.get("timeouts").map(timeouts).unwrap_or_default();
        let declaration = PluginDeclaration { reach, rules: plugin(node), environment, timeouts };
        Some((entry.key.clone(), declaration))
    };
    section(root, "plugins").iter().filter_map(declared).collect()
}

fn timeouts(node: &Node) -> Timeouts {
    let usual = Timeouts::default();
    Timeouts {
        start_s: number(node, "start_s").unwrap_or(usual.start_s),
        call_s: number(node, "call_s").unwrap_or(usual.call_s),
    }
}

pub(crate) fn models(root: &Node) -> Models {
    let below = |name: &str| root.at(&["models", name]).map(Node::entries).unwrap_or_default();
    Models {
        providers: below("providers").iter().filter_map(provider).collect(),
        routes: below("routes")
            .iter()
            .filter_map(|entry| Some((entry.key.clone(), entry.value.text()?.into())))
            .collect(),
        prices: below("prices").iter().filter_map(|entry| Some((entry.key.clone(), price(&entry.value)?))).collect(),
    }
}

fn provider(entry: &Entry) -> Option<(String, Provider)> {
    let node = &entry.value;
    let kind = match node.get("kind")?.text()? {
        "openai" => ProviderKind::Openai,
        "anthropic" => ProviderKind::Anthropic,
        _ => return None,
    };
    // Paths are put behind it.
    let base_url = text(node, "base_url")?.trim_end_matches('/').to_owned();
    Some((entry.key.clone(), Provider { kind, base_url, api_key_env: text(node, "api_key_env") }))
}

/// What is not said is as it is without a file.
fn worker_space(node: &Node) -> WorkerSpaceRules {
    let usual = WorkerSpaceRules::default();
    WorkerSpaceRules {
        idle_timeout_s: number(node, "idle_timeout_s").unwrap_or(usual.idle_timeout_s),
        cache_ttl_s: number(node, "cache_ttl_s").unwrap_or(usual.cache_ttl_s),
        queue_size: number(node, "queue_size").unwrap_or(usual.queue_size),
    }
}

fn channels(root: &Node) -> ChannelRules {
    let http = root.at(&["channels", "http", "enabled"]).and_then(Node::bool);
    ChannelRules { http: http.unwrap_or(ChannelRules::default().http) }
}

fn approvals(node: &Node) -> ApprovalRules {
    let usual = ApprovalRules::default();
    ApprovalRules {
        medium_timeout_s: number(node, "medium_timeout_s").unwrap_or(usual.medium_timeout_s),
        high_timeout_s: number(node, "high_timeout_s").unwrap_or(usual.high_timeout_s),
        denied_commands: texts(node, "denied_commands").unwrap_or_default(),
    }
}

fn number(node: &Node, key: &str) -> Option<u64> {
    node.get(key)?.text()?.parse().ok()
}

fn price(node: &Node) -> Option<Price> {
    Some(Price { input_per_mtok: money(node, "input_per_mtok")?, output_per_mtok: money(node, "output_per_mtok")? })
}

fn money(node: &Node, key: &str) -> Option<Micros> {
    node.get(key)?.text().and_then(Micros::parse_usd)
}

fn workspace(entry: &Entry) -> Option<(WorkspaceId, DeclaredWorkspace)> {
    let node = &entry.value;
    let list = |key: &str| node.get(key).map(Node::list).unwrap_or_default();
    let declared = DeclaredWorkspace {
        members: list("members").iter().filter_map(|name| UserId::parse(name.text()?).ok()).collect(),
        bindings: list("bindings").iter().filter_map(binding).collect(),
        settings: settings(node),
    };
    Some((WorkspaceId::parse(&entry.key).ok()?, declared))
}

fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::text).map(str::to_owned)
}

fn texts(node: &Node, key: &str) -> Option<Vec<String>> {
    let list = node.get(key)?.list();
    Some(list.iter().filter_map(Node::text).map(str::to_owned).collect())
}

/// What a workspace or the template of everybody's own sets.
pub(crate) fn settings(node: &Node) -> WorkspaceSettings {
    let tool_rules = |rules: &Node| ToolRules {
        allow: rules.get("allow").map(tools).unwrap_or_default(),
        deny: rules.get("deny").map(tools).unwrap_or_default(),
    };
    WorkspaceSettings {
        description: text(node, "description"),
        model: text(node, "model"),
        nodes: texts(node, "nodes"),
        tools: node.get("tools").map(tool_rules),
        skills: texts(node, "skills"),
        budget: node.get("budget").map(budget),
        key_conventions: node.get("key_conventions").map(|list| list.list().iter().filter_map(convention).collect()),
    }
}

fn budget(node: &Node) -> Budget {
    let members = node.get("members").map(Node::entries).unwrap_or_default();
    let of_member = |entry: &Entry| Some((UserId::parse(&entry.key).ok()?, Micros::parse_usd(entry.value.text()?)?));
    Budget {
        daily: money(node, "daily_usd"),
        member_daily: money(node, "member_daily_usd"),
        members: members.iter().filter_map(of_member).collect(),
        timezone: text(node, "timezone"),
    }
}

fn convention(node: &Node) -> Option<KeyConvention> {
    Some(KeyConvention { key: text(node, "key")?, purpose: text(node, "purpose")?, shape: text(node, "shape") })
}

pub(crate) fn binding(node: &Node) -> Option<Binding> {
    let place = ChannelPlace {
        channel: text(node, "channel")?,
        chat_id: text(node, "chat_id"),
        guild_id: text(node, "guild_id"),
        channel_id: text(node, "channel_id"),
    };
    let reply = match node.get("reply").and_then(Node::text) {
        Some("all") => Some(Reply::All),
        Some("mention") => Some(Reply::Mention),
        _ => None,
    };
    Some(Binding { place, reply })
}
