//! kill -9 while agents are at work: what was acknowledged is there, what was queued runs, nothing is asked twice.

use crate::it::binary::Server;
use crate::it::door::Door;
use crate::it::records::times;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{ImitatedProvider, Random, Turn};

const AGENTS: [&str; 4] = ["agent_coder", "agent_analyzer", "agent_writer", "agent_researcher"];
const SESSIONS: [&str; 3] = ["a", "b", "c"];
const SENDERS: usize = 4;
const MESSAGES_EACH: usize = 25;
const OWN: &str = "personal-usr_owner";

/// A message that was acknowledged.
#[derive(Clone)]
struct Sent {
    marker: String,
    session: &'static str,
    task: String,
}

struct House {
    data: PathBuf,
    config: PathBuf,
    token: String,
}

impl House {
    fn new(folder: &Path, provider: &ImitatedProvider) -> (Self, Server) {
        let (data, config) = (folder.join("data"), folder.join("longhouse.yaml"));
        // A model with a wide window, so that no history is summarised.
        let text = format!(
            "models: {{ providers: {{ openai: {{ kind: openai, base_url: \"{}\" }} }} }}\npersonal: {{ model: gpt-4-turbo, budget: {{ daily_usd: 1000000 }} }}\n",
            provider.openai_url()
        );
        std::fs::write(&config, text).unwrap();
        let mut house = Self { data, config, token: String::new() };
        let server = house.start();
        house.token = server.token();
        let door = Door::new(&server.url, &house.token);
        assert_eq!(door.post("/my/projects", &json!({"name": "alpha"})).unwrap().0, 201);
        for session in SESSIONS {
            assert_eq!(door.post("/sessions", &json!({"id": session, "project": "alpha"})).unwrap().0, 201);
        }
        (house, server)
    }

    fn start(&self) -> Server {
        let log = self.config.with_extension("log");
        Server::start_configured(&self.data, &self.config, &log).unwrap_or_else(|ended| panic!("{}", ended.status))
    }

    fn door(&self, server: &Server) -> Door {
        Door::new(&server.url, &self.token)
    }
}

/// Sends until there is no server any more; gives what was acknowledged.
fn send_all(door: &Door, round: u64, sender: usize) -> Vec<Sent> {
    let mut chance = Random::new(round * 100 + sender as u64);
    let mut sent = Vec::new();
    for number in 0..MESSAGES_EACH {
        let (marker, session) = (format!("marker-{round}-{sender}-{number}."), *chance.one_of(&SESSIONS));
        let body = json!({"content": marker, "target_agent": chance.one_of(&AGENTS)});
        match door.post(&format!("/sessions/{session}/messages"), &body) {
            Ok((202, answer)) => {
                sent.push(Sent { marker, session, task: answer["task_id"].as_str().unwrap().to_owned() });
            }
            Ok((status, answer)) => panic!("{status} {answer}"),
            Err(_) => break,
        }
    }
    sent
}

fn all(door: &Door, path: &str) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let separator = if path.contains('?') { '&' } else { '?' };
        let page = door.get(&format!("{path}{separator}limit=500{cursor}")).unwrap();
        found.extend(page["items"].as_array().unwrap_or_else(|| panic!("{page}")).clone());
        let Some(next) = page["next_cursor"].as_str() else { return found };
        cursor = format!("&cursor={next}");
    }
}

/// Every acknowledged message is there, and has come to one of its two ends.
fn check(door: &Door, sent: &[Sent]) -> (usize, usize) {
    super::wait_until("everything has ended", || {
        ["queued", "running"]
            .iter()
            .all(|status| all(door, &format!("/my/projects/alpha/tasks?status={status}")).is_empty())
    });
    let tasks: BTreeMap<String, Value> = all(door, "/my/projects/alpha/tasks")
        .into_iter()
        .map(|task| (task["id"].as_str().unwrap().to_owned(), task))
        .collect();
    let histories: BTreeMap<&str, Vec<Value>> =
        SESSIONS.iter().map(|session| (*session, all(door, &format!("/sessions/{session}/messages")))).collect();
    let (mut completed, mut interrupted) = (0, 0);
    for Sent { marker, session, task } in sent {
        let history = &histories[session];
        let asked: Vec<_> = history.iter().filter(|message| message["content"] == **marker).collect();
        assert_eq!(asked.len(), 1, "{marker} is in history once");
        let replies: Vec<_> = history.iter().filter(|message| message["in_reply_to"] == asked[0]["id"]).collect();
        assert_eq!(replies.len(), 1, "{marker}: {replies:?}");
        let task = &tasks[task];
        match task["status"].as_str().unwrap() {
            "completed" => {
                assert_eq!(replies[0]["content"], format!("Answer to {marker}"));
                completed += 1;
            }
            "failed" => {
                assert_eq!(task["error"]["code"], "INTERRUPTED", "{task}");
                assert!(task["error"]["message"].as_str().unwrap().contains("interrupted"), "{task}");
                interrupted += 1;
            }
            _ => panic!("{task}"),
        }
    }
    for history in histories.values() {
        let numbers: Vec<_> = history.iter().map(|message| message["number"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (1..=history.len() as u64).collect::<Vec<_>>(), "no number is left out");
    }
    (completed, interrupted)
}

fn check_events(door: &Door, session: &str) {
    let marker = json!({"action": "write", "key": "ending", "value": "x"});
    assert_eq!(door.ask(session, &marker).unwrap().0, 200);
    let events = door.events(session, |data| data["key"] == "ending");
    let mut ended = BTreeSet::new();
    let mut newest = 0;
    for (id, data) in &events {
        assert!(*id > newest, "events go on from where they were");
        newest = *id;
        let status = data["status"].as_str().unwrap_or("");
        if let Some(task) = data["task"].as_str().filter(|_| ["completed", "failed", "cancelled"].contains(&status)) {
            assert!(ended.insert(task.to_owned()), "{task} ends once");
        }
    }
    let queued = events.iter().filter(|(_, data)| data["status"] == "queued").count();
    assert_eq!(ended.len(), queued, "every task that was queued has ended");
}

#[test]
fn after_kill_9_among_a_hundred_tasks_each_has_one_end_and_no_question_was_asked_twice() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let provider = runtime.block_on(ImitatedProvider::start());
    provider.answering(|request| Some(Turn::say(&format!("Answer to {}", request.last_user_text()))));
    let folder = tempfile::tempdir().unwrap();
    let (house, mut server) = House::new(folder.path(), &provider);
    let mut chance = Random::new(11);
    let (mut completed, mut interrupted, mut acknowledged) = (0, 0, 0);
    for round in 0..times(8, 80) {
        // Every other time nothing is answered, so that all who may run do when it ends.
        if round % 2 == 0 {
            provider.block();
        }
        let moment =
            Duration::from_millis(if round % 2 == 0 { 300 + chance.below(600) } else { 20 + chance.below(400) });
        let doors: Vec<Door> = (0..SENDERS).map(|_| house.door(&server)).collect();
        let sent: Vec<Sent> = std::thread::scope(|scope| {
            let senders: Vec<_> = doors
                .iter()
                .enumerate()
                .map(|(sender, door)| scope.spawn(move || send_all(door, round, sender)))
                .collect();
            std::thread::sleep(moment);
            server.kill();
            senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
        });
        provider.release();
        server = house.start();
        let ends = check(&house.door(&server), &sent);
        acknowledged += sent.len();
        completed += ends.0;
        interrupted += ends.1;
    }
    assert!(acknowledged > 100 && completed > 50 && interrupted > 5, "{acknowledged} {completed} {interrupted}");
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for request in provider.requests() {
        *asked.entry(request.last_user_text()).or_default() += 1;
    }
    assert!(asked.values().all(|times| *times == 1), "asked twice: {asked:?}");
    let door = house.door(&server);
    for session in SESSIONS {
        check_events(&door, session);
    }
    let budget = door.get(&format!("/workspaces/{OWN}/budget")).unwrap();
    assert_eq!(budget["reserved_usd"], 0.0, "{budget}");
    assert!(server.cli(&["audit", "verify"]).starts_with("intact"));
    server.cli(&["doctor"]);
    println!("{acknowledged} acknowledged, {completed} completed, {interrupted} interrupted");
}
