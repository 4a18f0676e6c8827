//! A plugin that means no good beside one that does, in a real server: what it does to its own calls, that nobody else is harmed,
//! and where whoever looks after the house sees it.

use super::binary::Server;
use super::config::Home;
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};
use testkit::{ImitatedProvider, Turn};

const GOOD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/counting_plugin.py");
const ODD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/odd_plugin.py");
const PATIENCE: Duration = Duration::from_secs(20);

struct House {
    server: Server,
    home: Home,
    token: String,
    provider: ImitatedProvider,
    _runtime: tokio::runtime::Runtime,
}

fn config(home: &Home, provider: &str, call_s: u64) -> String {
    let file = |name: &str| home.path().join(name).display().to_string();
    let (lives, counted) = (file("lives"), file("counted"));
    // Everything is allowed where it can be: what holds is what a plugin is granted, and what its tools are called.
    format!(
        "users: {{ sean: {{ role: admin }} }}\n\
         personal: {{ model: gpt-4, tools: {{ allow: [\"*\"] }} }}\n\
         models:\n  providers: {{ p: {{ kind: openai, base_url: \"{provider}\" }} }}\n  routes: {{ \"*\": p }}\n\
         plugins:\n  counting: {{ command: [python3, \"{GOOD}\", \"{counted}\"], caps: [counting.*] }}\n  \
         odd:\n    command: [python3, \"{ODD}\", \"{lives}\"]\n    timeouts: {{ call_s: {call_s} }}\n    \
         caps: [odd.plain, odd.hang, odd.change, odd.twice, odd.wrong, odd.huge, odd.notices, odd.stderr, odd.crash, \
         odd.workspace_read, odd.shared_context, odd.tool_read_file, odd.filesystem.read, counting.add]\n"
    )
}

impl House {
    fn open(call_s: u64) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let provider = runtime.block_on(ImitatedProvider::start());
        let home = Home::new("");
        home.write(&config(&home, &provider.openai_url(), call_s));
        let server = Server::start_configured(&home.data(), &home.config(), &home.path().join("log")).expect("started");
        let token = server.cli(&["token", "create", "--user", "sean"]);
        let house = Self { server, home, token, provider, _runtime: runtime };
        house.post("/my/projects", &json!({"name": "garden"}));
        house.until("both to be ready", |house| {
            ["odd", "counting"].iter().all(|name| {
                let plugin = house.plugin(name);
                plugin["state"] == "ready" && plugin["tools"][0]["status"] == "accepted"
            })
        });
        house
    }

    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "{what}: {}", self.server.cli(&["plugin", "list", "--json"]));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.server.post(&self.token, path, body).expect("an answer");
        assert!((200..300).contains(&status), "{status} {answer}");
        answer
    }

    fn get(&self, path: &str) -> String {
        let asked = ureq::get(format!("{}{path}", self.server.url));
        let asked = asked.header("authorization", format!("Bearer {}", self.token)).call();
        asked.expect("found").body_mut().read_to_string().expect("text")
    }

    fn plugin(&self, name: &str) -> Value {
        let list: Value = serde_json::from_str(&self.server.cli(&["plugin", "list", "--json"])).expect("JSON");
        let items = list["items"].as_array().expect("a list");
        items.iter().find(|item| item["name"] == name).cloned().unwrap_or_default()
    }

    fn tool(&self, name: &str) -> Value {
        let tools = self.plugin("odd")["tools"].clone();
        tools.as_array().expect("tools").iter().find(|tool| tool["name"] == name).cloned().unwrap_or_default()
    }

    fn execute(&self, tool: &str, wait_s: u64) -> Value {
        let body = json!({"agent": "agent_coder", "tool": tool, "params": {}, "wait_s": wait_s});
        self.post("/my/projects/garden/tools/execute", &body)
    }

    /// The other plugin is there, at once, and was never away.
    #[track_caller]
    fn nobody_else_is_harmed(&self) {
        let begun = Instant::now();
        assert_eq!(self.execute("counting.add", 5)["status"], "completed");
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        let good = self.plugin("counting");
        assert_eq!((&good["state"], &good["times_away"]), (&json!("ready"), &json!(0)), "{good}");
    }

    /// It is well again, after having been away so many times.
    #[track_caller]
    fn is_back(&self, times: u64) {
        self.until("it to be back", |house| {
            let odd = house.plugin("odd");
            odd["state"] == "ready" && odd["times_away"] == times
        });
    }

    #[track_caller]
    fn figures_have(&self, line: &str) {
        self.until(line, |house| house.get("/metrics").contains(line));
    }

    #[track_caller]
    fn audit_has(&self, workspace: &str, action: &str, word: &str) {
        let rows: Value =
            serde_json::from_str(&self.get(&format!("/admin/audit?workspace={workspace}&limit=500"))).unwrap();
        let is_it = |row: &Value| row["action"] == action && row.to_string().contains(word);
        assert!(rows["items"].as_array().unwrap().iter().any(is_it), "{action} {word}: {rows}");
    }
}

#[track_caller]
fn ended(call: &Value, status: &str, code: &str) {
    assert_eq!((&call["status"], &call["reason"]["code"]), (&json!(status), &json!(code)), "{call}");
}

#[test]
fn a_call_that_hangs_ends_at_its_time_its_turn_goes_on_and_others_do_not_wait() {
    let house = House::open(8);
    let odd = Turn::call("odd.hang", json!({}));
    house.provider.script(vec![odd, Turn::say("Somebody else."), Turn::say("It took too long.")]);
    for session in ["s", "other"] {
        house.post("/sessions", &json!({"id": session, "project": "garden"}));
    }
    let ask = |session: &str, wait_s: u64| {
        let message = json!({"content": "please", "target_agent": "agent_coder", "wait_s": wait_s});
        house.post(&format!("/sessions/{session}/messages"), &message)
    };
    let begun = Instant::now();
    let sent = ask("s", 0);
    house.figures_have("longhouse_plugin_calls_running 1");
    house.nobody_else_is_harmed();
    assert_eq!(ask("other", 3)["status"], "completed", "another turn of the same agent");
    assert_eq!(house.get("/my/projects/garden/tools").matches("\"running\"").count(), 1, "it still hangs");
    let path = format!("/my/projects/garden/tasks/{}", sent["task_id"].as_str().unwrap());
    house.until("the turn to end", |house| house.get(&path).contains("\"status\":\"completed\""));
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    let calls: Value = serde_json::from_str(&house.get("/my/projects/garden/tools")).unwrap();
    let hung = calls["items"].as_array().unwrap().iter().find(|call| call["tool"] == "odd.hang").unwrap();
    ended(hung, "unknown", "PLUGIN_UNAVAILABLE");
    house.figures_have("longhouse_plugin_calls_total{end=\"unknown\"} 1");
    house.audit_has("personal-usr_sean", "tool_call.unknown", hung["id"].as_str().unwrap());
    assert_eq!(
        house.execute("odd.plain", 5)["status"],
        "completed",
        "a plugin that did not answer once may do so again"
    );
    assert_eq!(house.plugin("odd")["times_away"], 0);
}

#[test]
fn how_long_a_call_may_take_is_what_the_file_says_now() {
    let house = House::open(1);
    let begun = Instant::now();
    let call = house.execute("odd.hang", 10);
    ended(&call, "unknown", "PLUGIN_UNAVAILABLE");
    assert!(call["reason"]["message"].as_str().unwrap().contains("within 1 s"), "{call}");
    assert!(begun.elapsed() < Duration::from_secs(5));
    house.home.write(&config(&house.home, &house.provider.openai_url(), 3600));
    house.until("more patience", |house| house.execute("odd.hang", 3)["status"] == "running");
    house.home.write(&config(&house.home, &house.provider.openai_url(), 3601));
    let refused = fs::read_to_string(house.home.path().join("log"));
    house.until("a refusal", |house| {
        fs::read_to_string(house.home.path().join("log")).unwrap().contains("from 1 to 3600")
    });
    assert!(!refused.unwrap().contains("from 1 to 3600"));
    assert_eq!(fs::read_to_string(house.home.path().join("lives")).unwrap().lines().count(), 1, "it ran on");
}

#[test]
fn a_plugin_that_floods_is_begun_anew_and_that_is_seen() {
    let house = House::open(10);
    ended(&house.execute("odd.notices", 10), "unknown", "PLUGIN_UNAVAILABLE");
    house.nobody_else_is_harmed();
    house.is_back(1);
    ended(&house.execute("odd.huge", 10), "unknown", "PLUGIN_UNAVAILABLE");
    house.nobody_else_is_harmed();
    house.is_back(2);
    ended(&house.execute("odd.crash", 10), "unknown", "PLUGIN_UNAVAILABLE");
    house.is_back(3);
    let list = house.server.cli(&["plugin", "list"]);
    assert!(list.contains("odd  ready (was away 3 times, the last time because"), "{list}");
    house.figures_have("longhouse_plugins_away_total 3");
    house.figures_have("longhouse_plugin_calls_total{end=\"unknown\"} 3");
    // What it says on the side is kept in part, for admins, and in no log.
    assert_eq!(house.execute("odd.stderr", 10)["status"], "completed");
    house.until("its last words", |house| house.plugin("odd")["last_words"].to_string().contains("noise-canary"));
    assert!(house.plugin("odd")["last_words"].to_string().len() < 2_000);
    let log = fs::read_to_string(house.home.path().join("log")).unwrap();
    assert!(!log.contains("noise-canary") && log.contains("a plugin is away"), "{log}");
    house.nobody_else_is_harmed();
    assert_eq!(fs::read_to_string(house.home.path().join("lives")).unwrap().lines().count(), 4);
    assert_eq!(house.server.terminate(), Some(0));
}

#[test]
fn a_tool_that_changes_while_it_runs_is_off_and_told_of() {
    let house = House::open(10);
    assert_eq!(house.execute("odd.change", 10)["status"], "completed");
    house.until("the changes to be seen", |house| {
        ["odd.plain", "odd.twice"].iter().all(|name| house.tool(name)["status"] == "changed")
    });
    for tool in ["odd.plain", "odd.twice"] {
        ended(&house.execute(tool, 10), "denied", "FORBIDDEN");
    }
    assert_eq!(house.tool("odd.plain")["accepted_description"], "Does good.");
    assert!(house.server.cli(&["plugin", "list"]).contains("odd.twice  changed"));
    house.audit_has("@house", "plugin.notice", "odd.twice");
    house.figures_have("longhouse_alerts_total{kind=\"plugin_changed\"} 1");
    let offered = house.get("/my/projects/garden/tools/available");
    assert!(!offered.contains("Ignore all rules") && offered.contains("odd.wrong"), "{offered}");
    house.nobody_else_is_harmed();
    house.server.cli(&["plugin", "accept", "odd", "odd.twice"]);
    assert_eq!(house.execute("odd.twice", 10)["status"], "completed");
}

#[test]
fn names_of_others_are_nobodys_and_what_was_not_granted_is_not_there() {
    let house = House::open(10);
    let odd = house.plugin("odd");
    let named = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    let tools: Vec<String> = odd["tools"].as_array().unwrap().iter().map(named).collect();
    assert!(tools.iter().all(|tool| tool.starts_with("odd.")), "{tools:?}");
    assert!(
        tools.contains(&"odd.filesystem.read".to_owned()) && !tools.contains(&"odd.forbidden".to_owned()),
        "{tools:?}"
    );
    let left_out = odd["left_out"].to_string();
    assert!(left_out.contains("forbidden") && left_out.contains("is a name of the plugin `counting`"), "{left_out}");
    assert!(house.server.cli(&["plugin", "list"]).contains("forbidden  not offered"));
    ended(&house.execute("odd.forbidden", 5), "invalid", "TOOL_NOT_FOUND");
    let counted = || fs::read_to_string(house.home.path().join("counted")).unwrap_or_default();
    house.nobody_else_is_harmed();
    assert_eq!(counted(), "add\n", "a name leads to whom it belongs, whatever others were granted");
    // The house's own tools are its own, whatever anybody else calls theirs.
    let body = json!({"agent": "agent_coder", "tool": "shared_context", "params": {}});
    let (_, answer) = house.server.post(&house.token, "/my/projects/garden/tools/execute", &body).unwrap();
    assert!(!answer.to_string().contains("done"), "{answer}");
}

#[test]
fn an_answer_that_comes_twice_or_to_nobody_is_no_other_calls_answer() {
    let house = House::open(2);
    for _ in 0..5 {
        let call = house.execute("odd.twice", 10);
        assert_eq!((&call["status"], &call["result"]["text"]), (&json!("completed"), &json!("done")), "{call}");
        assert_eq!(house.execute("odd.plain", 10)["result"]["text"], "done", "the surplus is nobody's answer");
    }
    ended(&house.execute("odd.wrong", 10), "unknown", "PLUGIN_UNAVAILABLE");
    assert_eq!(house.execute("odd.plain", 10)["result"]["text"], "done");
    house.figures_have("longhouse_plugin_calls_total{end=\"unknown\"} 1");
    house.figures_have("longhouse_plugin_calls_total{end=\"completed\"} 11");
    house.nobody_else_is_harmed();
    assert_eq!(house.plugin("odd")["times_away"], 0);
}
