//! What an agent wants to change on a person's machine is asked in a direct chat and answered by a button, with a real node.

use super::{CHANNEL, FAMILY, GUILD, HOMELAB, SEAN, SEAN_THERE, Scene, WIFE, until};
use crate::it::binary::LONGHOUSE;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use testkit::{ImitatedDiscord, SentMessage, Turn};

struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Scene {
    fn root(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// Sean's machine, for the home project of a workspace.
    fn connect(&self, workspace: &str) -> Node {
        std::fs::create_dir_all(self.root()).unwrap();
        let token = self.server().cli(&["token", "create", "--user", "sean"]);
        let file = self.home.path().join("token");
        std::fs::write(&file, &token).unwrap();
        let mut command = Command::new(LONGHOUSE);
        command.env_remove("LONGHOUSE_TOKEN").args(["connect", "--server", &self.server().url]);
        command.args(["--project", "home", "--workspace", workspace, "--name", "desk", "--token-file"]).arg(&file);
        command.arg("--root").arg(self.root()).arg("--state-dir").arg(self.home.path().join("state"));
        let log = std::fs::File::create(self.home.path().join("node.log")).unwrap();
        let node = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        until("the node is there", || self.get(&token, "/nodes")["items"][0]["online"] == true);
        Node(node)
    }

    /// The next turn writes a file.
    fn will_write(&self, mark: &'static str, content: &'static str) {
        let write = json!({"path": "notes/today.md", "content": content, "mode": "append", "create_dirs": true});
        self.first_answers(move |request| {
            let is_meant = request.last_user_text().contains(mark) && request.tool_results().is_empty();
            is_meant.then(|| Turn::say("I write.").and_call("tool_write_file", write.clone()))
        });
    }

    fn notes(&self) -> String {
        std::fs::read_to_string(self.root().join("notes/today.md")).unwrap_or_default()
    }

    fn asked_in(&self, chat: i64) -> SentMessage {
        let asked =
            || self.telegram.messages().into_iter().find(|sent| sent.chat_id == chat && sent.text.contains("today.md"));
        until("somebody is asked", || asked().is_some());
        asked().unwrap()
    }
}

fn buttons(body: &Value) -> Vec<(String, String)> {
    let rows = body["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let all = rows.iter().flat_map(|row| row.as_array().cloned().unwrap_or_default());
    all.map(|one| (text(&one["text"]), text(&one["callback_data"]))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_change_is_approved_by_a_button_in_a_direct_chat_by_the_right_person_alone() {
    let mut scene = Scene::new();
    scene.will_write("note it", "milk-and-bread\n");
    scene.ask(SEAN, SEAN, "hello");
    scene.sent(1);
    let node = scene.connect("personal-usr_sean");
    scene.ask(SEAN, SEAN, "note it, please");
    let asked = scene.asked_in(SEAN);
    assert!(asked.text.contains("milk-and-bread") && asked.text.contains("MEDIUM"), "{}", asked.text);
    let offered = buttons(&asked.body);
    assert_eq!(offered.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), ["Approve", "Reject"]);
    let approve = &offered[0].1;
    // Others cannot, not even with the very words of the button.
    scene.telegram.press(WIFE, &SentMessage { chat_id: WIFE, ..asked.clone() }, approve, "press-of-another");
    scene.telegram.press(SEAN, &SentMessage { chat_id: FAMILY, ..asked.clone() }, approve, "press-in-a-group");
    scene.runtime.block_on(scene.telegram.until_called("answerCallbackQuery", 2));
    assert!(scene.notes().is_empty());
    // Asked before the server died, answered after.
    let address = scene.server().url.strip_prefix("http://").unwrap().to_owned();
    scene.kill();
    scene.start_at(&address);
    scene.telegram.press(SEAN, &asked, approve, "press-of-sean");
    until("it is written", || scene.notes() == "milk-and-bread\n");
    scene.telegram.press(SEAN, &asked, approve, "press-again");
    scene.runtime.block_on(scene.telegram.until_called("answerCallbackQuery", 4));
    let concluded = || scene.telegram.messages().into_iter().find(|sent| sent.id == asked.id).unwrap();
    until("the message says so", || concluded().text.contains("Approved by you"));
    assert!(buttons(&concluded().body).is_empty());
    until("the turn goes on", || scene.said_in(SEAN).iter().any(|said| said.starts_with("You said")));
    assert_eq!(scene.notes(), "milk-and-bread\n", "once");
    assert!(!scene.said_in(WIFE).iter().chain(&scene.said_in(FAMILY)).any(|said| said.contains("milk")));
    drop(node);
}

#[test]
fn from_a_group_its_person_is_asked_directly_and_the_group_learns_nothing_of_it() {
    let scene = Scene::new();
    scene.change_config("allow: [exec.sandboxed, k8s.*, terraform.*]", "allow: [filesystem.*]");
    let admin = scene.server().token();
    let explain = json!({"user": "sean", "tool": "filesystem.write"});
    until("the new rules hold", || {
        scene.server().post(&admin, "/workspaces/homelab/policy/explain", &explain).unwrap().1["decision"] == "ALLOW"
    });
    scene.will_write("note it", "root-password-canary\n");
    scene.ask(SEAN, HOMELAB, "hello");
    scene.sent(1);
    let node = scene.connect("homelab");
    scene.discord.say(SEAN_THERE, Some(GUILD), CHANNEL, &format!("<@{}> note it, please", ImitatedDiscord::BOT));
    let asked = || scene.discord.messages().into_iter().find(|sent| text(&sent["content"]).contains("today.md"));
    until("he is asked", || asked().is_some());
    let asked = asked().unwrap();
    let place = text(&asked["channel_id"]);
    assert_ne!(place, CHANNEL, "in a direct chat");
    let in_group = || -> Vec<String> {
        let there = scene.discord.messages().into_iter().filter(|sent| sent["channel_id"] == CHANNEL);
        there.map(|sent| text(&sent["content"])).collect()
    };
    until("the group hears that he was", || in_group().iter().any(|said| said.contains("I wrote to you directly")));
    let reject = asked["components"][0]["components"].as_array().unwrap().iter().find(|one| one["label"] == "Reject");
    let data = text(&reject.unwrap()["custom_id"]);
    scene.discord.press(SEAN_THERE, (None, &place), &text(&asked["id"]), &data, "token-of-a-press");
    until("the turn ends with that", || in_group().iter().any(|said| said.starts_with("You said")));
    assert!(scene.notes().is_empty());
    assert!(!in_group().iter().any(|said| said.contains("canary") || said.contains("today.md")), "{:?}", in_group());
    drop(node);
}
