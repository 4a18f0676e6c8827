//! Workspaces: what is in force, who said so, and how admins change it.

use crate::projects::present;
use crate::sessions::KeyConvention;
use domain::capabilities::{ToolPattern, ToolSet};
use domain::ids::UserId;
use domain::money::Micros;
use domain::times::Timestamp;
use domain::workspaces as words;
use domain::{Refusal, Result};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A workspace as its members and admins see it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Workspace {
    pub id: String,
    /// Whether it is somebody's own.
    pub personal: bool,
    /// `false`: the configuration file does not name it any more. What is in it is kept; nobody reaches it.
    pub open: bool,
    /// Who says that it is there: `file`, `admin`.
    pub defined_in: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub nodes: Vec<String>,
    pub tools: ToolRules,
    pub skills: Vec<String>,
    /// None: no limit. `GET /workspaces/{w}/budget` has what is spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    pub members: Vec<Member>,
    pub bindings: Vec<Binding>,
    /// Its own project, once it was used: `POST /sessions {"project": "home", "workspace": …}` is a use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home_project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_conventions: Option<Vec<KeyConvention>>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceList {
    pub items: Vec<Workspace>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Member {
    pub user: String,
    pub role: String,
    pub defined_in: Vec<String>,
}

/// What agents of a workspace may use: a name, all below a name (`k8s.*`), or `*`. What is denied is denied.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolRules {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
}

/// Dollars that may be spent in a day.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// By all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub daily_usd: Option<Number>,
    /// By each member.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub member_daily_usd: Option<Number>,
    /// By these members, instead.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub members: BTreeMap<String, Number>,
    /// Whose midnight ends the day: a name such as `Europe/Berlin`; `UTC` if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

/// What changes of the tools; a list that is given replaces the one before.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeToolRules {
    pub allow: Option<Vec<String>>,
    pub deny: Option<Vec<String>>,
}

/// What changes of the budget; `null` takes a limit away, what is left out stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeBudget {
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<f64>)]
    pub daily_usd: Option<Option<Number>>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<f64>)]
    pub member_daily_usd: Option<Option<Number>>,
    /// All of them: replaces those before.
    #[schema(value_type = Option<BTreeMap<String, f64>>)]
    pub members: Option<BTreeMap<String, Number>>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub timezone: Option<Option<String>>,
}

/// A place of a channel that belongs to the workspace.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Binding {
    /// The place as one text, to unbind it by.
    pub place: String,
    pub channel: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guild_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    pub defined_in: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Answer when mentioned or replied to.
    Mention,
    All,
}

/// A provider's id, as a number or as text.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum ProviderId {
    Number(i64),
    Text(String),
}

/// `chat_id` for telegram and http; `guild_id` and `channel_id` for discord.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddBinding {
    pub channel: String,
    pub chat_id: Option<ProviderId>,
    pub guild_id: Option<ProviderId>,
    pub channel_id: Option<ProviderId>,
    pub reply: Option<Reply>,
}

/// A new workspace. It allows no tools unless it says so.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWorkspace {
    /// 1 to 64 of `a-z 0-9 _ -`, not beginning with `personal`.
    pub name: String,
    #[serde(default)]
    pub members: Vec<String>,
    pub description: Option<String>,
    pub model: Option<String>,
    pub nodes: Option<Vec<String>>,
    pub tools: Option<ChangeToolRules>,
    pub skills: Option<Vec<String>>,
    pub budget: Option<ChangeBudget>,
    pub key_conventions: Option<Vec<KeyConvention>>,
}

/// What changes; `null` takes a part away. What the configuration file says is changed in the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeWorkspace {
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub description: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub model: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>)]
    pub nodes: Option<Option<Vec<String>>>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<ChangeToolRules>)]
    pub tools: Option<Option<ChangeToolRules>>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>)]
    pub skills: Option<Option<Vec<String>>>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<ChangeBudget>)]
    pub budget: Option<Option<ChangeBudget>>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<Vec<KeyConvention>>)]
    pub key_conventions: Option<Option<Vec<KeyConvention>>>,
}

impl From<CreateWorkspace> for ChangeWorkspace {
    fn from(new: CreateWorkspace) -> Self {
        Self {
            description: new.description.map(Some),
            model: new.model.map(Some),
            nodes: new.nodes.map(Some),
            tools: new.tools.map(Some),
            skills: new.skills.map(Some),
            budget: new.budget.map(Some),
            key_conventions: new.key_conventions.map(Some),
        }
    }
}

/// Reads a part that may be taken away.
fn part<T, U>(given: Option<Option<T>>, read: impl Fn(T) -> Result<U>) -> Result<Option<Option<U>>> {
    given.map(|part| part.map(&read).transpose()).transpose()
}

impl TryFrom<ChangeWorkspace> for words::SettingsChange {
    type Error = Refusal;

    fn try_from(change: ChangeWorkspace) -> Result<Self> {
        Ok(Self {
            description: change.description,
            model: change.model,
            nodes: change.nodes,
            tools: part(change.tools, TryInto::try_into)?,
            skills: change.skills,
            budget: part(change.budget, TryInto::try_into)?,
            key_conventions: part(change.key_conventions, |list| Ok(list.into_iter().map(Into::into).collect()))?,
        })
    }
}

impl TryFrom<ChangeToolRules> for words::ToolRulesChange {
    type Error = Refusal;

    fn try_from(rules: ChangeToolRules) -> Result<Self> {
        let read = |field, list: Option<Vec<String>>| list.map(|list| patterns(field, &list)).transpose();
        Ok(Self { allow: read("allow", rules.allow)?, deny: read("deny", rules.deny)? })
    }
}

fn patterns(field: &str, texts: &[String]) -> Result<ToolSet> {
    let known: Option<Vec<ToolPattern>> = texts.iter().map(|text| ToolPattern::parse(text)).collect();
    let expected = || Refusal::invalid_field(field, format!("`{field}` is a list, each {}", ToolPattern::EXPECTED));
    Ok(known.ok_or_else(expected)?.into())
}

fn dollars(field: &str, number: &Number) -> Result<Micros> {
    // A number's own text may have an exponent; a float's does not.
    let text = number.as_u64().map(|whole| whole.to_string()).or_else(|| number.as_f64().map(|part| part.to_string()));
    text.as_deref().and_then(Micros::parse_usd).ok_or_else(|| {
        let message = format!("`{field}` is a number of dollars, 0 or more, with at most six digits after the point");
        Refusal::invalid_field(field, message)
    })
}

impl TryFrom<ChangeBudget> for words::BudgetChange {
    type Error = Refusal;

    fn try_from(budget: ChangeBudget) -> Result<Self> {
        let member = |(name, number): (String, Number)| Ok((UserId::parse(&name)?, dollars("members", &number)?));
        let members = budget.members.map(|members| members.into_iter().map(member).collect::<Result<_>>());
        Ok(Self {
            daily: part(budget.daily_usd, |number| dollars("daily_usd", &number))?,
            member_daily: part(budget.member_daily_usd, |number| dollars("member_daily_usd", &number))?,
            members: members.transpose()?,
            timezone: budget.timezone,
        })
    }
}

impl From<words::Budget> for Budget {
    fn from(budget: words::Budget) -> Self {
        let shown = |sum: Micros| Number::from_f64(sum.as_usd());
        Self {
            daily_usd: budget.daily.and_then(shown),
            member_daily_usd: budget.member_daily.and_then(shown),
            members: budget
                .members
                .into_iter()
                .filter_map(|(user, sum)| Some((user.as_str().to_owned(), shown(sum)?)))
                .collect(),
            timezone: budget.timezone,
        }
    }
}

impl From<words::ToolRules> for ToolRules {
    fn from(rules: words::ToolRules) -> Self {
        let shown = |set: &ToolSet| set.patterns().iter().map(|pattern| pattern.as_str().to_owned()).collect();
        Self { allow: shown(&rules.allow), deny: shown(&rules.deny) }
    }
}

impl From<Reply> for words::Reply {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Mention => Self::Mention,
            Reply::All => Self::All,
        }
    }
}

impl From<words::Reply> for Reply {
    fn from(reply: words::Reply) -> Self {
        match reply {
            words::Reply::Mention => Self::Mention,
            words::Reply::All => Self::All,
        }
    }
}

impl ProviderId {
    /// One number is written in one way.
    pub fn into_text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

impl From<AddBinding> for words::Binding {
    fn from(add: AddBinding) -> Self {
        let text = |id: Option<ProviderId>| id.map(ProviderId::into_text);
        let place = words::ChannelPlace {
            channel: add.channel,
            chat_id: text(add.chat_id),
            guild_id: text(add.guild_id),
            channel_id: text(add.channel_id),
        };
        Self { place, reply: add.reply.map(Into::into) }
    }
}

impl Binding {
    pub fn new(binding: words::Binding, source: words::Source) -> Self {
        Self {
            place: binding.place.as_key(),
            channel: binding.place.channel,
            chat_id: binding.place.chat_id,
            guild_id: binding.place.guild_id,
            channel_id: binding.place.channel_id,
            reply: binding.reply.map(Into::into),
            defined_in: source.as_str().to_owned(),
        }
    }
}
