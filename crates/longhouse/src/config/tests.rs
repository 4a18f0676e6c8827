//! Whole files: those that are right, those that are wrong in one place each, and those that chance made.

mod broken;
mod chance;
mod schemas;

use super::*;
use domain::ids::{UserId, WorkspaceId};
use domain::money::Micros;
use domain::roles::Role;
use domain::rules::{ApprovalRules, Provider, ProviderKind, WorkerSpaceRules};
use domain::workspaces::Reply;
use std::collections::BTreeSet;

/// A folder with a configuration file and skills.
pub(super) struct Scene(tempfile::TempDir);

impl Scene {
    pub(super) fn new(text: impl AsRef<[u8]>) -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        std::fs::write(scene.file(), text).unwrap();
        scene
    }

    pub(super) fn with_skills(self, names: &[&str]) -> Self {
        for name in names {
            let folder = self.0.path().join("skills").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!("---\nname: {name}\ndescription: What {name} is for.\n---\nDo it well.\n");
            std::fs::write(folder.join("SKILL.md"), text).unwrap();
        }
        self
    }

    pub(super) fn file(&self) -> PathBuf {
        self.0.path().join("longhouse.yaml")
    }

    pub(super) fn load(&self) -> Result<Loaded, Rejected> {
        let owner = BTreeSet::from([UserId::parse("owner").unwrap()]);
        load(&self.file(), &KnownPeople::These(owner))
    }

    #[track_caller]
    pub(super) fn accepted(&self) -> Loaded {
        self.load().unwrap_or_else(|rejected| panic!("{:#?}", lines(&rejected.problems)))
    }

    /// Every problem, without the folder's name.
    pub(super) fn problems(&self) -> Vec<String> {
        let folder = format!("{}/", self.0.path().display());
        match self.load() {
            Ok(_) => Vec::new(),
            Err(rejected) => rejected.problems.iter().map(|problem| problem.to_string().replace(&folder, "")).collect(),
        }
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let folder = format!("{}/", self.0.path().display());
        self.accepted().warnings.iter().map(|warning| warning.to_string().replace(&folder, "")).collect()
    }
}

/// Two workspaces with what they need, word for word as people first described them.
pub(super) const FAMILY: &str = r#"
workspaces:
  homelab:
    description: "Home infrastructure and lab projects"
    members: [sean]
    tools:
      allow: [exec.sandboxed, k8s.*, terraform.*]
    skills: [infra-ops, monitoring]
    bindings:
      - channel: telegram
        chat_id: -100123456
      - channel: discord
        guild_id: "987654"
        channel_id: "111222"

  family:
    description: "Shared family assistant"
    members: [sean, wife]
    tools:
      allow: [calendar.*, shopping.*, recipes.*]
      deny: [exec.*, filesystem.*]
    skills: [meal-planning, household]
    bindings:
      - channel: telegram
        chat_id: -100789012
"#;

/// Every section there is.
pub(super) const WHOLE: &str = r#"users:
  sean:   { role: admin,  identities: { telegram: 1111, discord: "222", http: sean } }
  wife:   { role: member, identities: { telegram: 3333 } }
  gardener:
roles:
  admin:  { tools: ["*"] }
  member: { tools: ["*"], deny: ["exec.host"] }
  guest:  { tools: ["calendar.*"] }
  lead:   { tools: ["*"], rights: [approve] }
workspaces:
  homelab:
    description: "Home infrastructure and lab projects"
    members: [sean, usr_owner]
    model: claude-opus-4-6
    nodes: [macbook-pro, homelab-server]
    tools: { allow: [exec.sandboxed, k8s.*, terraform.*] }
    skills: [infra-ops, monitoring]
    budget: { daily_usd: 50.00, member_daily_usd: 20, members: { sean: 30.5 }, timezone: Europe/Berlin }
    bindings:
      - { channel: telegram, chat_id: -100123456 }
      - { channel: discord, guild_id: "987654", channel_id: 111222, reply: all }
      - { channel: http, chat_id: "the kitchen" }
    key_conventions:
      - { key: "inv:findings", purpose: What was found., shape: a list }
plugins:
  kubernetes: { command: ["kubectl-mcp"], caps: [k8s.*], approval: [k8s.delete], env: [KUBECONFIG] }
  calendar:   { url: "http://127.0.0.1:9000/mcp", caps: [calendar.*], approval: always, timeouts: { call_s: 3600 } }
channels:
  telegram: { token_env: TELEGRAM_BOT_TOKEN, api_base: "http://127.0.0.1:9001", mode: webhook, webhook_secret_env: HOOK_SECRET }
  discord:  { token_env: DISCORD_BOT_TOKEN, api_base: "http://127.0.0.1:9002", gateway_url: "ws://127.0.0.1:9003" }
  http:     { enabled: true }
models:
  providers:
    openai:    { kind: openai,    base_url: "https://api.openai.com/v1", api_key_env: OPENAI_API_KEY }
    anthropic: { kind: anthropic, base_url: "https://api.anthropic.com", api_key_env: ANTHROPIC_API_KEY }
    ollama:    { kind: openai,    base_url: "http://127.0.0.1:11434/v1" }
  routes:  { "gpt-*": openai, "claude-*": anthropic, "*": ollama }
  prices:
    gpt-4: { input_per_mtok: 30.0, output_per_mtok: 60.0 }
    "house-*": { input_per_mtok: 0, output_per_mtok: 0.05 }
personal: { model: gpt-4, tools: { allow: [filesystem.*, exec.sandboxed] }, skills: [], budget: { daily_usd: 5.00 } }
embeddings: { provider: local, model: small, base_url: "http://127.0.0.1:1", api_key_env: A_KEY, path: ./models/small }
worker_space: { idle_timeout_s: 1800, cache_ttl_s: 300, queue_size: 100 }
alerts: { webhook: "https://hooks.example:8443/house/alerts" }
approvals: { medium_timeout_s: 300, high_timeout_s: 600, denied_commands: [docker, g++-12] }
orchestrator: { approve_plans_from: 5 }
server:
  rate_limit: { per_second: 2000, burst: 4000 }
  public_url: https://house.example
  allowed_hosts: [house.example, "[::1]"]
  metrics_open: true
storage: { url: sqlite }
bus: { url: memory }
vectors: { url: embedded }
skills_dir: ./skills
"#;

pub(super) const SKILLS: [&str; 4] = ["infra-ops", "monitoring", "meal-planning", "household"];

#[test]
fn the_family_house_is_accepted_as_it_was_described() {
    let text = format!("users:\n  sean: {{ role: admin }}\n  wife: {{}}\n{FAMILY}");
    let scene = Scene::new(text).with_skills(&SKILLS);
    let loaded = scene.accepted();
    let family = &loaded.declaration.workspaces[&WorkspaceId::parse("family").unwrap()];
    assert_eq!(family.members.len(), 2);
    assert_eq!(family.settings.tools.as_ref().unwrap().deny.find("exec.host"), Some("exec.*"));
    assert_eq!(family.bindings[0].place.as_key(), "telegram:-100789012");
    assert_eq!(loaded.declaration.house.skills.len(), 4);
}

#[test]
fn every_section_there_is_can_be_said_at_once() {
    let scene = Scene::new(WHOLE).with_skills(&SKILLS);
    let loaded = scene.accepted();
    let declaration = &loaded.declaration;
    let sean = &declaration.users[&UserId::parse("sean").unwrap()];
    assert_eq!(sean.role, Role::Admin);
    let accounts: Vec<_> =
        sean.identities.iter().map(|account| format!("{}:{}", account.channel, account.id)).collect();
    assert_eq!(accounts, ["telegram:1111", "discord:222", "http:sean"]);
    assert_eq!(declaration.users[&UserId::parse("gardener").unwrap()].role, Role::Member);
    let homelab = &declaration.workspaces[&WorkspaceId::parse("homelab").unwrap()];
    let budget = homelab.settings.budget.as_ref().unwrap();
    assert_eq!((budget.daily, budget.member_daily), (Some(Micros(50_000_000)), Some(Micros(20_000_000))));
    assert_eq!(budget.members.values().copied().collect::<Vec<_>>(), [Micros(30_500_000)]);
    assert_eq!(homelab.bindings[1].place.as_key(), "discord:987654:111222");
    assert_eq!(homelab.bindings[1].reply, Some(Reply::All));
    assert_eq!(homelab.settings.key_conventions.as_ref().unwrap()[0].key, "inv:findings");
    assert!(declaration.house.plugins["calendar"].approval.find("calendar.add").is_some());
    let patience = loaded.plugins.values().map(|plugin| (plugin.timeouts.start_s, plugin.timeouts.call_s));
    assert_eq!(patience.collect::<Vec<_>>(), [(30, 3600), (30, 60)], "what is not written is as usual");
    assert_eq!(declaration.house.models.routes["gpt-*"], "openai");
    assert_eq!(loaded.process.allowed_hosts.as_ref().unwrap().len(), 2);
    assert_eq!(loaded.process.metrics_open, Some(true));
    assert!(matches!(loaded.process.rate_limit, Some(api::RateLimit::PerSecond { burst, .. }) if burst.get() == 4000));
}

#[test]
fn providers_spaces_and_alerts_are_declared_as_they_are_written() {
    let provider = |kind, base_url: &str, api_key_env: Option<&str>| {
        let (base_url, api_key_env) = (base_url.to_owned(), api_key_env.map(str::to_owned));
        Provider { kind, base_url, api_key_env }
    };
    let house = |text: &str| Scene::new(text).with_skills(&SKILLS).accepted().declaration.house;
    let whole = house(WHOLE);
    let openai = provider(ProviderKind::Openai, "https://api.openai.com/v1", Some("OPENAI_API_KEY"));
    let anthropic = provider(ProviderKind::Anthropic, "https://api.anthropic.com", Some("ANTHROPIC_API_KEY"));
    assert_eq!((&whole.models.providers["openai"], &whole.models.providers["anthropic"]), (&openai, &anthropic));
    assert_eq!(whole.models.providers.len(), 3);
    assert_eq!(whole.alerts.webhook.as_deref(), Some("https://hooks.example:8443/house/alerts"));
    let slashed = house("models: { providers: { p: { kind: openai, base_url: \"http://[::1]:1/v1//\" } } }\n");
    assert_eq!(slashed.models.providers["p"], provider(ProviderKind::Openai, "http://[::1]:1/v1", None));
    let spaces = |text: &str| {
        let WorkerSpaceRules { idle_timeout_s, cache_ttl_s, queue_size } = house(text).worker_space;
        (idle_timeout_s, cache_ttl_s, queue_size)
    };
    assert_eq!(spaces("{}"), (1800, 300, 100));
    assert_eq!(spaces("worker_space: { cache_ttl_s: 0 }\n"), (1800, 0, 100));
    assert_eq!(
        spaces("worker_space: { idle_timeout_s: 604800, cache_ttl_s: 86400, queue_size: 10000 }\n"),
        (604_800, 86_400, 10_000)
    );
}

#[test]
fn times_to_decide_and_denied_programs_are_declared_as_they_are_written() {
    let of = |text: &str| Scene::new(text).with_skills(&SKILLS).accepted().declaration.house.approvals;
    let rules = |medium_timeout_s, high_timeout_s, denied: &[&str]| {
        let denied_commands = denied.iter().map(|name| (*name).to_owned()).collect();
        ApprovalRules { medium_timeout_s, high_timeout_s, denied_commands }
    };
    assert_eq!(of(WHOLE), rules(300, 600, &["docker", "g++-12"]));
    assert_eq!(of("{}"), ApprovalRules::default());
    assert_eq!(of("approvals: { medium_timeout_s: 10 }\n"), rules(10, 600, &[]));
    assert_eq!(of("approvals: { high_timeout_s: 86400 }\n"), rules(300, 86_400, &[]));
    assert_eq!(of("approvals: { denied_commands: [curl] }\n"), rules(300, 600, &["curl"]));
}

#[test]
fn a_budget_is_kept_of_models_whose_price_is_written_or_known() {
    let of = |model: &str, prices: &str| {
        let text = format!(
            "workspaces: {{ w: {{ model: {model}, budget: {{ daily_usd: 1 }} }} }}\nmodels: {{ prices: {{ {prices} }} }}\n"
        );
        Scene::new(text).problems().len()
    };
    let price = "{ input_per_mtok: 0, output_per_mtok: 0 }";
    assert_eq!((of("demo", ""), of("claude-opus-4-6", ""), of("mystery", "")), (0, 0, 1));
    assert_eq!(of("mystery", &format!("mystery: {price}")), 0, "free is a price, too");
    assert_eq!(of("mystery", &format!("\"myst*\": {price}")), 0);
    assert_eq!(of("mystery", &format!("\"myst\": {price}")), 1);
    let unlimited = "workspaces: { w: { model: mystery, budget: { timezone: UTC } } }\n";
    assert!(Scene::new(unlimited).problems().is_empty());
}

#[test]
fn a_file_may_declare_nothing_but_has_to_say_so() {
    for text in ["", "# nothing yet\n", "\n \n", "\u{feff}"] {
        let problems = Scene::new(text).problems();
        assert!(problems.len() == 1 && problems[0].contains("the file says nothing"), "{problems:?}");
    }
    for text in ["{}\n", "---\n", "users:\nworkspaces:\n"] {
        let loaded = Scene::new(text).accepted();
        assert_eq!(loaded.declaration, Declaration::default(), "{text:?}");
        assert_eq!(loaded.process, ProcessSettings::default());
        assert!(loaded.warnings.is_empty(), "{text:?}");
    }
}

#[test]
fn a_template_that_only_denies_allows_what_is_built_in() {
    let allow = |text: &str| {
        let tools = Scene::new(text).accepted().declaration.house.personal.tools.unwrap();
        tools.allow.patterns().iter().map(|pattern| pattern.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(allow("personal: { tools: { deny: [exec.*] } }\n"), ["filesystem.*", "exec.sandboxed"]);
    assert!(allow("personal: { tools: { allow: [], deny: [exec.*] } }\n").is_empty());
}

#[test]
fn a_number_and_its_text_name_the_same_chat_and_account() {
    let of = |chat: &str, account: &str| {
        let text = format!(
            "users: {{ a: {{ identities: {{ telegram: {account} }} }} }}\n\
             workspaces: {{ w: {{ bindings: [{{ channel: telegram, chat_id: {chat} }}] }} }}\n"
        );
        Scene::new(text).accepted().declaration
    };
    assert_eq!(of("-100123456", "1111"), of("\"-100123456\"", "'1111'"));
}

#[test]
fn people_who_are_in_the_house_already_may_be_named() {
    let scene = Scene::new("workspaces: { w: { members: [owner, guest] } }\n");
    assert_eq!(scene.problems().len(), 1);
    assert!(load(&scene.file(), &KnownPeople::Anybody).is_ok());
    assert_eq!(load(&scene.file(), &KnownPeople::These(BTreeSet::new())).unwrap_err().problems.len(), 2);
}

#[test]
fn what_this_version_does_not_act_on_is_said_once_each() {
    let warnings = Scene::new(WHOLE).with_skills(&SKILLS).warnings();
    // Which keys are there is the business of whoever runs this.
    let warnings: Vec<_> =
        warnings.into_iter().filter(|line| !line.contains("is not set in this environment")).collect();
    let places: Vec<_> = warnings.iter().map(|line| line.split(": ").next().unwrap()).collect();
    let lines: Vec<_> = places.iter().map(|place| place.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["15", "15", "42", "46"], "{warnings:#?}");
    assert!(warnings[0].contains("the node `macbook-pro` is not paired yet"));
}

#[test]
fn a_place_of_a_channel_that_is_not_there_is_only_told() {
    let warnings = Scene::new(
        "workspaces:\n  w:\n    bindings:\n      - { channel: telegram, chat_id: 1 }\n      - { channel: http, chat_id: x }\n",
    )
    .warnings();
    assert_eq!(warnings, ["longhouse.yaml:4:20: `channels` has no `telegram`: nothing arrives from this place"]);
}

#[test]
fn only_what_is_declared_makes_a_difference() {
    let digest = |text: &str| Scene::new(text).accepted().digest;
    assert_eq!(digest("users: { a: {} }\n"), digest("# words\nusers:\n  a: { role: member }\n"));
    assert_ne!(digest("users: { a: {} }\n"), digest("users: { a: { role: guest } }\n"));
    assert_ne!(digest("{}"), digest("server: { rate_limit: off }\n"));
    assert_ne!(digest("{}"), digest("worker_space: { queue_size: 5 }\n"));
    assert_ne!(digest("{}"), digest("approvals: { high_timeout_s: 60 }\n"));
    assert_ne!(digest("{}"), digest("alerts: { webhook: \"http://a\" }\n"));
}

#[test]
fn the_rows_are_found_though_the_rest_is_wrong() {
    let scene = Scene::new("storage: { url: \"postgres://u:p@h/db\" }\nusrs: 1\n");
    assert_eq!(storage_url(&scene.file()).unwrap().as_deref(), Some("postgres://u:p@h/db"));
    assert!(storage_url(&Scene::new("a: [").file()).is_err());
}

#[test]
fn a_named_skill_must_be_right_and_another_is_only_told_of() {
    let scene = Scene::new(WHOLE).with_skills(&SKILLS);
    std::fs::write(scene.0.path().join("skills/household/SKILL.md"), "no front matter").unwrap();
    let warnings = scene.warnings();
    assert!(
        warnings.iter().any(|line| line.starts_with("skills/household/SKILL.md:1:1: there is no front matter")),
        "{warnings:#?}"
    );
    std::fs::write(scene.0.path().join("skills/monitoring/SKILL.md"), "---\nname: other\n---\n").unwrap();
    let problems = scene.problems();
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(
        problems.iter().any(|line| line.starts_with("skills/monitoring/SKILL.md:2:7: the name `other`")),
        "{problems:#?}"
    );
}
