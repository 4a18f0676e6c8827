//! Workspaces: what a policy scope is made of. Who made each part, the file or an admin, is kept with it.

use crate::budgets::is_time_zone;
use crate::capabilities::ToolSet;
use crate::ids::{UserId, is_word};
use crate::money::Micros;
use crate::sessions::{KeyConvention, check_conventions, check_text};
use crate::skills::reveal;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

// What file and doors hold a workspace to.
pub const DESCRIPTION_LONGEST: usize = 1_000;
/// Of models, nodes and skills.
pub const NAME_LONGEST: usize = 128;
/// Nodes, and skills.
pub const NAMES_MOST: usize = 100;
/// In each list of tools.
pub const PATTERNS_MOST: usize = 500;
pub const BINDINGS_MOST: usize = 100;
/// How much the audit log keeps of one changed part.
const TOLD_LONGEST: usize = 2_000;
/// Of places and identities where they are no numbers.
pub const PLACE_LONGEST: usize = 256;

/// Who said so: what the file says is changed in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    File,
    Admin,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Admin => "admin",
        }
    }
}

/// What a workspace sets. A part that is absent was not said: another source, the personal template or a default may.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkspaceSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Names of nodes that may serve this workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolRules>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_conventions: Option<Vec<KeyConvention>>,
}

/// What a workspace lets its agents use, and what not in any case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolRules {
    pub allow: ToolSet,
    pub deny: ToolSet,
}

/// How much may be spent in a day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// By all together; none = no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily: Option<Micros>,
    /// By each member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_daily: Option<Micros>,
    /// By these members, instead of `member_daily`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<UserId, Micros>,
    /// Whose midnight ends the day, an IANA name; UTC if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

/// An account of a person with a channel's provider, by the provider's own id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    pub channel: String,
    pub id: String,
}

/// A place of a channel that belongs to a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    #[serde(flatten)]
    pub place: ChannelPlace,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
}

/// Where messages come from: a chat, or a channel of a guild.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChannelPlace {
    pub channel: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guild_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<String>,
}

/// What is answered in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Mention,
    All,
}

/// What a change says; `Some(None)` takes a part away, what it leaves out stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsChange {
    pub description: Option<Option<String>>,
    pub model: Option<Option<String>>,
    pub nodes: Option<Option<Vec<String>>>,
    pub tools: Option<Option<ToolRulesChange>>,
    pub skills: Option<Option<Vec<String>>>,
    pub budget: Option<Option<BudgetChange>>,
    pub key_conventions: Option<Option<Vec<KeyConvention>>>,
}

/// What a change says of tools: of allowed ones, of denied ones, or of both.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolRulesChange {
    pub allow: Option<ToolSet>,
    pub deny: Option<ToolSet>,
}

/// What a change says of a budget. A limit goes only when that is said: never because something else was.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BudgetChange {
    pub daily: Option<Option<Micros>>,
    pub member_daily: Option<Option<Micros>>,
    pub members: Option<BTreeMap<UserId, Micros>>,
    pub timezone: Option<Option<String>>,
}

impl ToolRulesChange {
    fn onto(self, before: ToolRules) -> ToolRules {
        ToolRules { allow: self.allow.unwrap_or(before.allow), deny: self.deny.unwrap_or(before.deny) }
    }
}

impl BudgetChange {
    fn onto(self, before: Budget) -> Budget {
        Budget {
            daily: self.daily.unwrap_or(before.daily),
            member_daily: self.member_daily.unwrap_or(before.member_daily),
            members: self.members.unwrap_or(before.members),
            timezone: self.timezone.unwrap_or(before.timezone),
        }
    }
}

/// What is said of a workspace before a change of what admins say.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    pub admin: &'a WorkspaceSettings,
    pub file: Option<&'a WorkspaceSettings>,
    /// All together, with the template where it holds.
    pub in_force: &'a WorkspaceSettings,
}

impl SettingsChange {
    /// What admins say from now on. What the file says is changed in the file: such a part is named in the refusal.
    pub fn apply(self, said: Said<'_>) -> Result<WorkspaceSettings> {
        let nothing = WorkspaceSettings::default();
        let (admin, file) = (said.admin.clone(), said.file.unwrap_or(&nothing));
        let before = said.in_force.tools.clone().unwrap_or_default();
        let tools = self.tools.map(|change| change.map(|change| change.onto(before)));
        let before = said.in_force.budget.clone().unwrap_or_default();
        let budget = self.budget.map(|change| change.map(|change| change.onto(before)));
        Ok(WorkspaceSettings {
            description: part("description", self.description, admin.description, file.description.is_some())?,
            model: part("model", self.model, admin.model, file.model.is_some())?,
            nodes: part("nodes", self.nodes, admin.nodes, file.nodes.is_some())?,
            tools: part("tools", tools, admin.tools, file.tools.is_some())?,
            skills: part("skills", self.skills, admin.skills, file.skills.is_some())?,
            budget: part("budget", budget, admin.budget, file.budget.is_some())?,
            key_conventions: part(
                "key_conventions",
                self.key_conventions,
                admin.key_conventions,
                file.key_conventions.is_some(),
            )?,
        })
    }
}

fn part<T>(name: &str, change: Option<Option<T>>, before: Option<T>, of_file: bool) -> Result<Option<T>> {
    match change {
        None => Ok(before),
        Some(_) if of_file => Err(defined_in_file(name)),
        Some(change) => Ok(change),
    }
}

/// A run-time change of what the configuration file says.
pub fn defined_in_file(part: &str) -> Refusal {
    let message = format!("the configuration file says this under `{part}`: change it there");
    Refusal::new(Code::DefinedInFile, message).with("part", part)
}

impl WorkspaceSettings {
    /// Whether every part is well-formed by itself.
    pub fn check(&self) -> Result<()> {
        if let Some(description) = &self.description {
            check_text("description", description, DESCRIPTION_LONGEST)?;
            check_visible("description", description)?;
        }
        if let Some(model) = &self.model {
            check_text("model", model, NAME_LONGEST)?;
        }
        for (field, names) in [("nodes", &self.nodes), ("skills", &self.skills)] {
            let names = names.as_deref().unwrap_or_default();
            if names.len() > NAMES_MOST || names.iter().any(|name| check_text(field, name, NAME_LONGEST).is_err()) {
                let message = format!("`{field}` is a list of at most {NAMES_MOST} names");
                return Err(Refusal::invalid_field(field, message));
            }
        }
        if let Some(conventions) = &self.key_conventions {
            check_conventions("key_conventions", conventions.clone())?;
        }
        let lists = self.tools.as_ref().map(|tools| [("allow", &tools.allow), ("deny", &tools.deny)]);
        for (field, list) in lists.into_iter().flatten() {
            if list.patterns().len() > PATTERNS_MOST {
                let message = format!("`{field}` is a list of at most {PATTERNS_MOST} tools");
                return Err(Refusal::invalid_field(field, message));
            }
        }
        match self.budget.as_ref().and_then(|budget| budget.timezone.as_deref()) {
            Some(name) if !is_time_zone(name) => {
                Err(Refusal::invalid_field("timezone", "a time zone is a name such as Europe/Berlin or UTC"))
            }
            _ => Ok(()),
        }
    }

    /// Which parts another says differently, each with what was and what is; long ones by name only.
    pub fn differences(&self, other: &Self) -> Value {
        let object = |settings: &Self| match serde_json::to_value(settings) {
            Ok(Value::Object(parts)) => parts,
            _ => Map::new(),
        };
        let (before, after) = (object(self), object(other));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let changed = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
        let told = changed.map(|name| {
            let change = json!({"from": before.get(name), "to": after.get(name)});
            let is_long = change.to_string().len() > TOLD_LONGEST;
            (name.clone(), if is_long { json!("changed") } else { change })
        });
        Value::Object(told.collect())
    }

    /// What holds where this says nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            description: self.description.or(other.description),
            model: self.model.or(other.model),
            nodes: self.nodes.or(other.nodes),
            tools: self.tools.or(other.tools),
            skills: self.skills.or(other.skills),
            budget: self.budget.or(other.budget),
            key_conventions: self.key_conventions.or(other.key_conventions),
        }
    }
}

/// Whether a name is kept for people's own workspaces.
pub fn is_reserved(name: &str) -> bool {
    name.starts_with("personal")
}

/// What everybody's own workspace is, where the template says nothing.
pub fn personal_defaults() -> WorkspaceSettings {
    WorkspaceSettings {
        tools: Some(ToolRules { allow: ToolSet::of(&["filesystem.*", "exec.sandboxed"]), deny: ToolSet::default() }),
        budget: Some(Budget { daily: Some(Micros(5_000_000)), ..Budget::default() }),
        ..WorkspaceSettings::default()
    }
}

/// The channels there are.
pub const CHANNELS: [&str; 3] = ["telegram", "discord", "http"];

/// Whether a provider's own id can look like this. Handles and display names are nobody's identity.
fn is_provider_id(channel: &str, id: &str) -> bool {
    // One number is written in one way, or a place would have several names.
    let is_number = |text: &str| is_word(text, 20, |byte| byte.is_ascii_digit()) && !text.starts_with('0');
    match channel {
        "telegram" => is_number(id.strip_prefix('-').unwrap_or(id)),
        "discord" => is_number(id),
        _ => {
            let is_seen = !id.chars().any(char::is_control) && reveal(id).1.is_empty();
            (1..=PLACE_LONGEST).contains(&id.chars().count()) && is_seen
        }
    }
}

/// People decide by what they read: nothing in it may be invisible.
fn check_visible(field: &str, text: &str) -> Result<()> {
    if reveal(text).1.is_empty() {
        return Ok(());
    }
    Err(Refusal::invalid_field(field, format!("`{field}` has characters that nobody sees")))
}

fn check_channel(channel: &str) -> Result<()> {
    if CHANNELS.contains(&channel) {
        return Ok(());
    }
    Err(Refusal::invalid_field("channel", "a channel is one of telegram, discord, http"))
}

impl Identity {
    pub fn check(&self) -> Result<()> {
        check_channel(&self.channel)?;
        if is_provider_id(&self.channel, &self.id) {
            return Ok(());
        }
        let message = "an identity is the provider's own number for the account, never a handle such as `@name`";
        Err(Refusal::invalid_field("id", message))
    }
}

/// Everybody's own workspace as the file describes it, completed by what is built in. A limit goes only when another is
/// said: a template that names a time zone still has one.
pub fn personal_template(declared: WorkspaceSettings) -> WorkspaceSettings {
    let built_in = personal_defaults();
    let daily = built_in.budget.as_ref().and_then(|budget| budget.daily);
    let mut template = declared.or(built_in);
    if let Some(budget) = &mut template.budget {
        budget.daily = budget.daily.or(daily);
    }
    template
}

impl ChannelPlace {
    pub fn check(&self) -> Result<()> {
        check_channel(&self.channel)?;
        let given = (self.chat_id.as_deref(), self.guild_id.as_deref(), self.channel_id.as_deref());
        let (field, message) = match (self.channel.as_str(), given) {
            ("discord", (None, Some(guild), Some(channel))) => {
                if is_provider_id("discord", guild) && is_provider_id("discord", channel) {
                    return Ok(());
                }
                ("guild_id", "`guild_id` and `channel_id` are Discord's own numbers")
            }
            ("discord", _) => ("guild_id", "a place of discord is a `guild_id` and a `channel_id`"),
            (_, (Some(chat), None, None)) if is_provider_id(&self.channel, chat) => return Ok(()),
            ("telegram", (Some(_), None, None)) => {
                ("chat_id", "a chat of telegram is its number, such as -100123456, never a handle")
            }
            _ => ("chat_id", "a place of this channel is a `chat_id` and nothing else"),
        };
        Err(Refusal::invalid_field(field, message))
    }

    /// One text for one place: the key under which a binding is found. A channel's name has no `:`.
    pub fn as_key(&self) -> String {
        let inner = match (&self.chat_id, &self.guild_id, &self.channel_id) {
            (Some(chat), _, _) => chat.clone(),
            (None, guild, channel) => {
                format!("{}:{}", guild.as_deref().unwrap_or_default(), channel.as_deref().unwrap_or_default())
            }
        };
        format!("{}:{inner}", self.channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(channel: &str, chat: Option<&str>, guild: Option<(&str, &str)>) -> ChannelPlace {
        let (guild_id, channel_id) = guild.map(|(a, b)| (a.to_owned(), b.to_owned())).unzip();
        ChannelPlace { channel: channel.to_owned(), chat_id: chat.map(str::to_owned), guild_id, channel_id }
    }

    #[test]
    fn a_place_is_a_providers_own_number() {
        let good = [
            place("telegram", Some("-100123456"), None),
            place("discord", None, Some(("987654", "111222"))),
            place("http", Some("any string"), None),
        ];
        for place in good {
            assert!(place.check().is_ok(), "{place:?}");
        }
        let bad = [
            place("telegram", Some("@homelab"), None),
            place("telegram", Some("-"), None),
            place("telegram", Some("007"), None),
            place("telegram", Some("-0"), None),
            place("discord", None, Some(("-5", "2"))),
            place("telegram", None, None),
            place("telegram", Some("1"), Some(("1", "2"))),
            place("discord", Some("1"), None),
            place("discord", None, Some(("guild", "2"))),
            place("http", Some(""), None),
            place("http", Some("a\nb"), None),
            place("smoke", Some("1"), None),
        ];
        for place in bad {
            assert!(place.check().is_err(), "{place:?}");
        }
    }

    #[test]
    fn different_places_have_different_keys() {
        let keys = [
            place("telegram", Some("1"), None),
            place("http", Some("1"), None),
            place("http", Some("1:2"), None),
            place("discord", None, Some(("1", "2"))),
        ]
        .map(|place| place.as_key());
        assert_eq!(keys.iter().collect::<std::collections::BTreeSet<_>>().len(), keys.len(), "{keys:?}");
    }

    #[test]
    fn what_the_file_says_is_not_changed_at_run_time_and_the_rest_is() {
        let file = WorkspaceSettings { model: Some("gpt-4".into()), ..Default::default() };
        let admin = WorkspaceSettings::default();
        let said = Said { admin: &admin, file: Some(&file), in_force: &file };
        let change = SettingsChange { model: Some(None), ..Default::default() };
        assert_eq!(change.apply(said).unwrap_err().code, Code::DefinedInFile);
        let change = SettingsChange { description: Some(Some("x".into())), ..Default::default() };
        let after = change.apply(said).unwrap();
        assert_eq!(file.or(after).description.as_deref(), Some("x"));
    }

    #[test]
    fn a_limit_goes_only_when_that_is_said() {
        let (admin, in_force) = (WorkspaceSettings::default(), personal_defaults());
        let said = Said { admin: &admin, file: None, in_force: &in_force };
        let zone = BudgetChange { timezone: Some(Some("Europe/Berlin".into())), ..Default::default() };
        let change = SettingsChange { budget: Some(Some(zone)), ..Default::default() };
        assert_eq!(change.apply(said).unwrap().budget.unwrap().daily, Some(Micros(5_000_000)));
        let deny = ToolRulesChange { deny: Some(ToolSet::of(&["exec.*"])), ..Default::default() };
        let change = SettingsChange { tools: Some(Some(deny)), ..Default::default() };
        let tools = change.apply(said).unwrap().tools.unwrap();
        assert_eq!(tools.allow, in_force.tools.clone().unwrap().allow);
    }
}
