//! The format of the configuration file. A key that is not here does not exist.

mod words;

use super::shapes::{Fields, Shape, field, fields, list, required};
use domain::plugins::Timeouts;
use domain::rules::ApprovalRules;
use domain::workspaces::{BINDINGS_MOST, CHANNELS, NAMES_MOST, PATTERNS_MOST};
pub(crate) use words::MODEL_PATTERN;
use words::*;

/// The whole file.
pub(crate) static FILE: Shape = fields(&[
    field("users", &USERS, "The people of the house, by name."),
    field("roles", &ROLES, "What each role may use; admin, member and guest exist without being written."),
    field("workspaces", &WORKSPACES, "Scopes with their own members, tools, skills, model, budget and places."),
    field("personal", &PERSONAL, "The template of everybody's own workspace."),
    field("plugins", &PLUGINS, "Sources of tools, with the capabilities they are granted."),
    field("channels", &CHANNEL_ACCOUNTS, "How Longhouse takes part in other services."),
    field("models", &MODELS, "Where models are, which provider serves which, and what they cost."),
    field("embeddings", &EMBEDDINGS, "What turns text into vectors for recall."),
    field("worker_space", &WORKER_SPACE, "Limits of the space that a project's agents work in."),
    field("alerts", &ALERTS, "Who is told when something goes wrong, beside those who watch."),
    field("approvals", &APPROVALS, "How long a call waits for a person, and what nobody is asked about."),
    field("orchestrator", &ORCHESTRATOR, "How plans are made."),
    field("server", &SERVER, "How the server meets the network; takes effect at the next start."),
    field("storage", &STORAGE, "Where rows are kept; takes effect at the next start."),
    field("bus", &BUS, "What carries work and events; takes effect at the next start."),
    field("vectors", &VECTORS, "Where vectors are kept; takes effect at the next start."),
    field("skills_dir", &PATH, "The folder of the skills, relative to this file; `./skills` if not given."),
]);

static USERS: Shape = Shape::Names { name: &USER, each: &USER_SHAPE, most: 10_000 };
static USER_SHAPE: Shape = fields(&[
    field("role", &Shape::Text(&ROLE), "What the person may use; `member` if not given."),
    field("identities", &IDENTITIES, "The person's accounts with channels, by the provider's own id."),
]);
static IDENTITIES: Shape = fields(&[
    field("telegram", &Shape::Id(&NUMERIC_ID), "The numeric user id at Telegram."),
    field("discord", &Shape::Id(&SNOWFLAKE), "The numeric user id at Discord."),
    field("http", &Shape::Id(&FREE_ID), "The sender's id as a bot of your own gives it."),
]);

static ROLES: Shape = Shape::Names { name: &ROLE, each: &ROLE_SHAPE, most: 100 };
static ROLE_SHAPE: Shape = fields(&[
    field("tools", &TOOLS, "The tools that the role may use."),
    field("deny", &TOOLS, "The tools that it may not use in any case."),
    field("rights", &list(&Shape::Choice(&["approve"]), 8), "`approve`: may approve for others in its workspaces."),
]);
static TOOLS: Shape = list(&Shape::Text(&TOOL), PATTERNS_MOST);

static WORKSPACES: Shape = Shape::Names { name: &WORKSPACE, each: &WORKSPACE_SHAPE, most: 1_000 };
static WORKSPACE_SHAPE: Shape = fields(&[
    field("description", &Shape::Text(&DESCRIPTION), "What it is for."),
    field("members", &list(&Shape::Text(&USER), 1_000), "Who belongs to it."),
    field("model", &Shape::Text(&MODEL), "The model of its agents."),
    field("nodes", &list(&Shape::Text(&NODE), NAMES_MOST), "The nodes that may serve it."),
    field("tools", &TOOL_RULES, "What its agents may use; nothing if not given."),
    field("skills", &list(&Shape::Text(&SKILL), NAMES_MOST), "The skills that its agents see."),
    field("budget", &BUDGET, "How much may be spent in a day; no limit if not given."),
    field("bindings", &list(&BINDING, BINDINGS_MOST), "The chats and channels that belong to it."),
    field("key_conventions", &list(&KEY_CONVENTION, 100), "Keys of the shared context that agents are told about."),
]);
static PERSONAL: Shape = fields(&[
    field("description", &Shape::Text(&DESCRIPTION), "What it is for."),
    field("model", &Shape::Text(&MODEL), "The model of its agents."),
    field("nodes", &list(&Shape::Text(&NODE), NAMES_MOST), "The nodes that may serve it."),
    field("tools", &TOOL_RULES, "What its agents may use; `filesystem.*` and `exec.sandboxed` if not given."),
    field("skills", &list(&Shape::Text(&SKILL), NAMES_MOST), "The skills that its agents see."),
    field("budget", &PERSONAL_BUDGET, "How much may be spent in a day; 5 dollars if not given."),
    field("key_conventions", &list(&KEY_CONVENTION, 100), "Keys of the shared context that agents are told about."),
]);
static TOOL_RULES: Shape =
    fields(&[field("allow", &TOOLS, "What may be used."), field("deny", &TOOLS, "What may not be used in any case.")]);
static BUDGET: Shape = fields(&[
    field("daily_usd", &Shape::Money, "By all together in a day."),
    field("member_daily_usd", &Shape::Money, "By each member in a day."),
    field(
        "members",
        &Shape::Names { name: &USER, each: &Shape::Money, most: 1_000 },
        "By these members in a day, instead of `member_daily_usd`.",
    ),
    field("timezone", &Shape::Text(&TIME_ZONE), "Whose midnight ends the day; UTC if not given."),
]);
static PERSONAL_BUDGET: Shape = fields(&[
    field("daily_usd", &Shape::Money, "By the person in a day."),
    field("timezone", &Shape::Text(&TIME_ZONE), "Whose midnight ends the day; UTC if not given."),
]);
static BINDING: Shape = Shape::Fields(Fields {
    fields: &[
        required("channel", &Shape::Choice(&CHANNELS), "The channel."),
        field("chat_id", &Shape::Id(&FREE_ID), "The chat, for telegram and http."),
        field("guild_id", &Shape::Id(&SNOWFLAKE), "The guild, for discord."),
        field("channel_id", &Shape::Id(&SNOWFLAKE), "The channel of the guild, for discord."),
        field(
            "reply",
            &Shape::Choice(&["mention", "all"]),
            "What is answered in a group: `mention` if not given, `all` for http.",
        ),
    ],
    one_of: &[&["chat_id"], &["guild_id", "channel_id"]],
});
static KEY_CONVENTION: Shape = fields(&[
    required("key", &Shape::Text(&KEY), "The key."),
    required("purpose", &Shape::Text(&LINE), "What it is for."),
    field("shape", &Shape::Text(&LINE), "What its value looks like."),
]);

static PLUGINS: Shape = Shape::Names { name: &NAME, each: &PLUGIN, most: 64 };
static PLUGIN: Shape = Shape::Fields(Fields {
    fields: &[
        field(
            "command",
            &Shape::List { each: &Shape::Text(&ARGUMENT), least: 1, most: 64 },
            "The program that is the MCP server, with its arguments.",
        ),
        field("url", &URL, "The address of the MCP server."),
        required("caps", &TOOLS, "The capabilities it is granted; a tool outside them is never callable."),
        field(
            "approval",
            &Shape::Either(&[Shape::Choice(&["never", "always"]), list(&Shape::Text(&TOOL), PATTERNS_MOST)]),
            "Which of its tools wait for a person; `never` if not given.",
        ),
        field("env", &list(&Shape::Variable, 64), "The environment variables that it is given, by name."),
        field("timeouts", &PLUGIN_TIMEOUTS, "How patient the house is with it."),
    ],
    one_of: &[&["command"], &["url"]],
});
static PLUGIN_TIMEOUTS: Shape = fields(&[
    field("start_s", &PLUGIN_WITHIN, "From its start until its tools are known; 30 if not given."),
    field("call_s", &PLUGIN_WITHIN, "From asking for a call until its answer; 60 if not given."),
]);
static PLUGIN_WITHIN: Shape =
    Shape::Integer { least: Timeouts::SHORTEST_S.cast_signed(), most: Timeouts::LONGEST_S.cast_signed() };

static CHANNEL_ACCOUNTS: Shape = fields(&[
    field("telegram", &TELEGRAM, "A bot at Telegram."),
    field("discord", &DISCORD, "A bot at Discord."),
    field(
        "http",
        &fields(&[field("enabled", &Shape::Bool, "Whether a bot of your own may post.")]),
        "A bot of your own.",
    ),
]);
static TELEGRAM: Shape = fields(&[
    required("token_env", &Shape::Variable, "The environment variable with the bot's token."),
    field("api_base", &URL, "The address of the API, if it is another one."),
    field("mode", &Shape::Choice(&["polling", "webhook"]), "How messages arrive; `polling` if not given."),
    field("webhook_secret_env", &Shape::Variable, "The environment variable with the webhook's secret."),
]);
static DISCORD: Shape = fields(&[
    required("token_env", &Shape::Variable, "The environment variable with the bot's token."),
    field("api_base", &URL, "The address of the API, if it is another one."),
    field("gateway_url", &Shape::Text(&WEBSOCKET_URL_WORD), "The address of the gateway, if it is another one."),
]);

static MODELS: Shape = fields(&[
    field("providers", &Shape::Names { name: &NAME, each: &PROVIDER, most: 64 }, "Who serves models."),
    field(
        "routes",
        &Shape::Names { name: &MODEL_PATTERN, each: &Shape::Text(&NAME), most: 256 },
        "Which provider serves which models; the longest pattern that fits counts.",
    ),
    field(
        "prices",
        &Shape::Names { name: &MODEL_PATTERN, each: &PRICE, most: 1_000 },
        "What models cost, over the bundled table; the longest pattern that fits counts.",
    ),
]);
static PROVIDER: Shape = fields(&[
    required("kind", &Shape::Choice(&["openai", "anthropic"]), "Which API it speaks."),
    required("base_url", &URL, "Its address: with `/v1` for openai, without it for anthropic."),
    field("api_key_env", &Shape::Variable, "The environment variable with the key."),
]);
static PRICE: Shape = fields(&[
    required("input_per_mtok", &Shape::Money, "Dollars for a million tokens that the model reads."),
    required("output_per_mtok", &Shape::Money, "Dollars for a million tokens that the model writes."),
]);

static EMBEDDINGS: Shape = fields(&[
    required("provider", &Shape::Choice(&["local", "openai", "ollama"]), "Who makes the vectors."),
    field("model", &Shape::Text(&MODEL), "The model."),
    field("base_url", &URL, "The provider's address."),
    field("api_key_env", &Shape::Variable, "The environment variable with the key."),
    field("path", &PATH, "Where a local model is, relative to this file."),
]);
static WORKER_SPACE: Shape = fields(&[
    field(
        "idle_timeout_s",
        &Shape::Integer { least: 10, most: 604_800 },
        "After how long without work it rests; 1800 if not given.",
    ),
    field(
        "cache_ttl_s",
        &Shape::Integer { least: 0, most: 86_400 },
        "How long what was looked up is remembered; 300 if not given.",
    ),
    field(
        "queue_size",
        &Shape::Integer { least: 1, most: 10_000 },
        "How many tasks may wait for one agent; 100 if not given.",
    ),
]);
static ALERTS: Shape = fields(&[field("webhook", &URL, "An address that alerts are posted to.")]);
static APPROVALS: Shape = fields(&[
    field("medium_timeout_s", &DECIDED_WITHIN, "How long a call of medium risk waits; 300 if not given."),
    field("high_timeout_s", &DECIDED_WITHIN, "How long a call of high risk waits; 600 if not given."),
    field(
        "denied_commands",
        &list(&Shape::Text(&PROGRAM), 256),
        "Programs that are never run, whoever approves, besides those that never are anyway.",
    ),
]);
static DECIDED_WITHIN: Shape =
    Shape::Integer { least: ApprovalRules::SHORTEST_S.cast_signed(), most: ApprovalRules::LONGEST_S.cast_signed() };
static ORCHESTRATOR: Shape = fields(&[field(
    "approve_plans_from",
    &Shape::Integer { least: 1, most: 1_000 },
    "From how many tasks on a plan waits for a person.",
)]);

static SERVER: Shape = fields(&[
    field("public_url", &URL, "The address that people use."),
    field("allowed_hosts", &list(&Shape::Text(&HOST), 64), "Host names to answer to, beside the loopback names."),
    field("metrics_open", &Shape::Bool, "Whether /metrics may be read without a token, on loopback only."),
    field("rate_limit", &Shape::Either(&[Shape::Choice(&["off"]), RATE]), "Requests for each credential, or `off`."),
]);
const RATE: Shape = fields(&[
    required("per_second", &Shape::Integer { least: 1, most: 1_000_000 }, "Requests per second."),
    field("burst", &Shape::Integer { least: 1, most: 2_000_000 }, "At once; twice as many if not given."),
]);
static STORAGE: Shape =
    fields(&[required("url", &Shape::Text(&STORAGE_URL), "`sqlite`, or the address of a PostgreSQL database.")]);
static BUS: Shape = fields(&[required("url", &Shape::Text(&BUS_URL), "`memory`, or the address of a NATS server.")]);
static VECTORS: Shape =
    fields(&[required("url", &Shape::Text(&VECTORS_URL), "`embedded`, or the address of a Qdrant server.")]);

static URL: Shape = Shape::Text(&URL_WORD);
static PATH: Shape = Shape::Text(&PATH_WORD);
