//! A household with bots at Telegram and Discord: real binary, imitated providers, and everything they see kept.

mod approving;
mod faults;
mod household;
mod strangers;
mod webhooks;

use super::binary::Server;
use super::config::Home;
use serde_json::Value;
use std::time::{Duration, Instant};
use testkit::{ImitatedDiscord, ImitatedProvider, ImitatedTelegram, ModelRequest, SentMessage, Turn};
use tokio::runtime::Runtime;

const HOMELAB: i64 = -100_123_456;
const FAMILY: i64 = -100_789_012;
const SEAN: i64 = 1111;
const WIFE: i64 = 3333;
/// At Discord.
const GUILD: &str = "987654";
const CHANNEL: &str = "111222";
const SEAN_THERE: &str = "222";
const SECRET: &str = "a-secret_of-the-webhook";
const SKILLS: [&str; 4] = ["infra-ops", "monitoring", "meal-planning", "household"];
const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/counting_plugin.py");

/// The seed's two workspaces and their places, with people, models and bots.
fn config(telegram: &str, discord: &ImitatedDiscord, provider: &ImitatedProvider, home: &Home) -> String {
    let (api, gateway, openai) = (discord.api_base(), discord.gateway_url(), provider.openai_url());
    let counted = |name: &str| home.path().join(name).display().to_string();
    let (k8s, calendar) = (counted("k8s"), counted("calendar"));
    format!(
        r#"
users:
  sean: {{ role: admin, identities: {{ telegram: {SEAN}, discord: "{SEAN_THERE}" }} }}
  wife: {{ role: member, identities: {{ telegram: {WIFE} }} }}
workspaces:
  homelab:
    description: "Home infrastructure and lab projects"
    members: [sean]
    model: lab-model
    tools:
      allow: [exec.sandboxed, k8s.*, terraform.*]
    skills: [infra-ops, monitoring]
    budget: {{ daily_usd: 50.00, timezone: Europe/Berlin }}
    bindings:
      - channel: telegram
        chat_id: {HOMELAB}
      - channel: discord
        guild_id: "{GUILD}"
        channel_id: "{CHANNEL}"
  family:
    description: "Shared family assistant"
    members: [sean, wife]
    model: family-model
    tools:
      allow: [calendar.*, shopping.*, recipes.*]
      deny: [exec.*, filesystem.*]
    skills: [meal-planning, household]
    budget: {{ daily_usd: 20.00 }}
    bindings:
      - channel: telegram
        chat_id: {FAMILY}
personal: {{ model: own-model }}
plugins:
  k8s: {{ command: [python3, "{PLUGIN}", "{k8s}"], caps: [k8s.*] }}
  calendar: {{ command: [python3, "{PLUGIN}", "{calendar}"], caps: [calendar.*] }}
channels:
  telegram: {telegram}
  discord: {{ token_env: DISCORD_BOT_TOKEN, api_base: "{api}", gateway_url: "{gateway}" }}
models:
  providers: {{ imitated: {{ kind: openai, base_url: "{openai}" }} }}
  routes: {{ "*": imitated }}
  prices: {{ "*": {{ input_per_mtok: 1.0, output_per_mtok: 1.0 }} }}
"#
    )
}

struct Scene {
    home: Home,
    telegram: ImitatedTelegram,
    discord: ImitatedDiscord,
    provider: ImitatedProvider,
    server: Option<Server>,
    runtime: Runtime,
}

impl Scene {
    /// With a bot that asks for its updates.
    fn new() -> Self {
        Self::with(|telegram| format!("{{ token_env: TELEGRAM_BOT_TOKEN, api_base: \"{telegram}\" }}"))
    }

    /// With the section of `telegram` made of the address of its API.
    fn with(telegram_section: impl Fn(&str) -> String) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let telegram = runtime.block_on(ImitatedTelegram::start());
        let discord = runtime.block_on(ImitatedDiscord::start());
        let provider = runtime.block_on(ImitatedProvider::start());
        let long = format!("```\n{}```\n", "a line of code\n".repeat(600));
        provider.matching(|request| request.last_user_text().contains("tell me all"), Turn::say(&long));
        provider.answering(|request| Some(Turn::say(&format!("You said: {}", request.last_user_text()))));
        let home = Home::new("{}");
        for skill in SKILLS {
            home.skill(skill);
        }
        home.write(&config(&telegram_section(&telegram.api_base()), &discord, &provider, &home));
        let mut scene = Self { home, telegram, discord, provider, server: None, runtime };
        scene.start();
        scene
    }

    fn start(&mut self) {
        self.start_with(&[]);
    }

    /// At the address that it had.
    fn start_at(&mut self, address: &str) {
        self.start_with(&["--listen", address]);
    }

    fn start_with(&mut self, args: &[&str]) {
        let environment = [
            ("TELEGRAM_BOT_TOKEN", ImitatedTelegram::TOKEN),
            ("DISCORD_BOT_TOKEN", ImitatedDiscord::TOKEN),
            ("TELEGRAM_WEBHOOK_SECRET", SECRET),
        ];
        let (data, file, log) = (self.home.data(), self.home.config(), self.home.path().join("log"));
        let server = Server::start_configured_in(&data, (&file, &log), &environment, args);
        self.server = Some(server.expect("it starts"));
    }

    /// Answers that come before all others.
    fn first_answers(&self, answer: impl Fn(&ModelRequest) -> Option<Turn> + Send + Sync + 'static) {
        self.provider.answering_first(answer);
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("it runs")
    }

    fn kill(&mut self) {
        self.server.take().expect("it runs").kill();
    }

    /// Words to the bot in a group of Telegram.
    fn ask(&self, sender: i64, chat: i64, text: &str) {
        let words = if sender == chat { text.to_owned() } else { format!("@{} {text}", ImitatedTelegram::NAME) };
        self.telegram.say(sender, chat, &words);
    }

    fn sent(&self, count: usize) -> Vec<SentMessage> {
        self.runtime.block_on(self.telegram.until_sent(count))
    }

    /// What was said in a chat of Telegram.
    fn said_in(&self, chat: i64) -> Vec<String> {
        self.telegram.messages().into_iter().filter(|sent| sent.chat_id == chat).map(|sent| sent.text).collect()
    }

    fn get(&self, token: &str, path: &str) -> Value {
        let asked =
            ureq::get(format!("{}{path}", self.server().url)).header("authorization", format!("Bearer {token}"));
        asked.call().expect("found").body_mut().read_json().expect("JSON")
    }

    fn audit(&self, workspace: &str) -> Vec<Value> {
        let rows = self.server().cli(&["--json", "audit", "--workspace", workspace, "--last", "1000"]);
        serde_json::from_str(&rows).expect("JSON")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    fn change_config(&self, from: &str, to: &str) {
        let before = std::fs::read_to_string(self.home.config()).unwrap();
        assert!(before.contains(from), "{from}");
        self.home.write(&before.replace(from, to));
    }
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "not in good time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
