//! The seed's example: each group chat reaches its own workspace, and nothing of it reaches another.

use super::{CHANNEL, FAMILY, GUILD, HOMELAB, SEAN, SEAN_THERE, Scene, WIFE, until};
use serde_json::{Value, json};
use testkit::ImitatedDiscord;

/// What each workspace is told, and must not be seen anywhere else.
const MARKS: [(&str, &str); 4] = [
    ("homelab", "canary-of-homelab-4711"),
    ("family", "canary-of-family-4712"),
    ("personal-usr_sean", "canary-of-sean-4713"),
    ("personal-usr_wife", "canary-of-wife-4714"),
];

#[test]
fn each_place_reaches_its_own_workspace_and_nothing_crosses() {
    let scene = Scene::new();
    let (lab, family, sean, wife) = (MARKS[0].1, MARKS[1].1, MARKS[2].1, MARKS[3].1);
    until("the plugins are ready", || {
        let list: Value = serde_json::from_str(&scene.server().cli(&["plugin", "list", "--json"])).unwrap();
        let is_ready = |plugin: &Value| plugin["tools"][0]["status"] == "accepted";
        list["items"].as_array().unwrap().iter().all(is_ready)
    });
    // One after the other, so that it is known who hears which answer.
    scene.ask(SEAN, HOMELAB, &format!("the cluster is {lab}"));
    scene.sent(1);
    scene.ask(WIFE, FAMILY, &format!("dinner is {family}"));
    scene.sent(2);
    scene.ask(SEAN, SEAN, &format!("my diary says {sean}"));
    scene.sent(3);
    scene.ask(WIFE, WIFE, &format!("my diary says {wife}"));
    scene.sent(4);
    scene.discord.say(SEAN_THERE, Some(GUILD), CHANNEL, &format!("<@{}> and at discord", ImitatedDiscord::BOT));
    let there = scene.runtime.block_on(scene.discord.until_sent(1));
    assert!(there[0]["content"].as_str().unwrap().contains("and at discord"), "{there:?}");
    // Each in its own place.
    for (chat, mark) in [(HOMELAB, lab), (FAMILY, family), (SEAN, sean), (WIFE, wife)] {
        let said = scene.said_in(chat);
        assert!(said.len() == 1 && said[0].contains(mark), "{chat}: {said:?}");
    }
    // Model, tools and skills are the workspace's, and so is all that a model is shown.
    let requests = scene.provider.requests();
    assert_eq!(requests.len(), 5);
    for request in &requests {
        let (text, model) = (request.body.to_string(), request.model());
        let expected = match model {
            "lab-model" => ("k8s__add", "infra-ops", &MARKS[..1]),
            "family-model" => ("calendar__add", "meal-planning", &MARKS[1..2]),
            "own-model" if text.contains(sean) => ("", "", &MARKS[2..3]),
            "own-model" => ("", "", &MARKS[3..]),
            other => panic!("{other}"),
        };
        let (tool, skill, marks) = expected;
        let names = request.tool_names();
        for known in ["k8s__add", "calendar__add"] {
            assert_eq!(names.iter().any(|name| name == known), known == tool, "{model}: {names:?}");
        }
        for known in ["infra-ops", "meal-planning"] {
            assert_eq!(request.system().contains(known), known == skill, "{model}: {known}");
        }
        for (workspace, mark) in MARKS {
            let may_be_there = marks.iter().any(|(name, _)| *name == workspace);
            assert!(may_be_there || !text.contains(mark), "{model} was shown {mark}");
        }
    }
    // A place has a session, and two places of one workspace have two, of its home project.
    let routed: Vec<Value> =
        scene.audit("homelab").into_iter().filter(|row| row["action"] == "gateway.route").collect();
    assert_eq!(routed.len(), 2);
    assert_ne!(routed[0]["session"], routed[1]["session"], "{routed:?}");
    nothing_crosses(&scene);
}

/// What each person may see over the API, and what is logged and counted.
fn nothing_crosses(scene: &Scene) {
    let token = |user: &str| scene.server().cli(&["token", "create", "--user", user]);
    let (sean, wife) = (token("sean"), token("wife"));
    let seen_by = |token: &str| {
        let mut seen = String::new();
        for path in ["/my/projects", "/my/approvals", "/workspaces", "/sessions"] {
            seen.push_str(&scene.get(token, path).to_string());
        }
        for session in scene.get(token, "/sessions")["items"].as_array().unwrap() {
            let id = session["id"].as_str().unwrap();
            seen.push_str(&scene.get(token, &format!("/sessions/{id}/messages")).to_string());
        }
        seen
    };
    let (of_sean, of_wife) = (seen_by(&sean), seen_by(&wife));
    for (workspace, mark) in MARKS {
        assert_eq!(of_sean.contains(mark), workspace != "personal-usr_wife", "sean sees {mark}");
        assert_eq!(
            of_wife.contains(mark),
            ["family", "personal-usr_wife"].contains(&workspace),
            "his wife sees {mark}"
        );
    }
    let streamed = events(scene, &wife);
    assert!(streamed.contains("event:") || streamed.contains("id:"), "{streamed}");
    assert!(!streamed.contains(MARKS[0].1) && !streamed.contains(MARKS[2].1), "{streamed}");
    let admin = scene.server().token();
    let metrics =
        ureq::get(format!("{}/metrics", scene.server().url)).header("authorization", format!("Bearer {admin}"));
    let metrics = metrics.call().unwrap().body_mut().read_to_string().unwrap();
    for line in [
        "longhouse_channel_messages_total{outcome=\"routed\"} 5",
        "longhouse_channel_answers_total{outcome=\"sent\"} 5",
        "longhouse_channel_connected{channel=\"telegram\"} 1",
        "longhouse_channel_connected{channel=\"discord\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    for (_, mark) in MARKS {
        assert!(!scene.log().contains(mark) && !metrics.contains(mark));
    }
    let health = scene.get(&admin, "/health");
    let channels = health["checks"].as_array().unwrap().iter().find(|check| check["name"] == "channels");
    assert_eq!(channels.unwrap()["status"], "healthy", "{health}");
    let listed = scene.get(&admin, "/admin/channels");
    assert_eq!(
        listed["items"],
        json!([{"name": "discord", "state": "connected"}, {"name": "telegram", "state": "connected"}])
    );
}

/// The beginning of what somebody's stream has had so far.
fn events(scene: &Scene, token: &str) -> String {
    use std::io::Read;
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_recv_body(Some(std::time::Duration::from_secs(2))).build().into();
    let url = format!("{}/my/events", scene.server().url);
    let asked = agent.get(url).header("authorization", format!("Bearer {token}")).header("last-event-id", "0");
    let mut reader = asked.call().expect("a stream").into_body().into_reader();
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = reader.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn commands_are_for_the_house_and_a_long_answer_arrives_in_parts() {
    let scene = Scene::new();
    scene.ask(SEAN, HOMELAB, "what is up");
    scene.sent(1);
    scene.telegram.say(SEAN, HOMELAB, "/new");
    scene.sent(2);
    scene.telegram.say(SEAN, HOMELAB, "/help");
    let said = scene.sent(3);
    assert!(said[1].text.contains("fresh session") && said[2].text.contains("/stop"), "{said:?}");
    scene.ask(SEAN, HOMELAB, "tell me all");
    let said = scene.sent(6);
    let parts = &said[3..];
    assert!(parts.len() >= 3 && parts.iter().all(|part| part.text.encode_utf16().count() <= 4096));
    assert_eq!(parts.iter().map(|part| part.text.matches("a line of code").count()).sum::<usize>(), 600);
    let sessions = scene.audit("homelab").into_iter().filter(|row| row["action"] == "session.create").count();
    assert_eq!(sessions, 2, "the second after /new");
}

#[test]
fn what_has_no_words_for_the_bot_is_passed_over_and_media_are_answered_politely() {
    let scene = Scene::new();
    scene.telegram.say(SEAN, HOMELAB, "people talk among themselves");
    let mut picture = scene.telegram.message(SEAN, SEAN, "");
    picture.as_object_mut().unwrap().remove("text");
    picture["photo"] = json!([{"file_id": "x", "file_unique_id": "y", "width": 1, "height": 1}]);
    scene.telegram.tell(json!({ "message": picture }));
    let said = scene.sent(1);
    assert!(said[0].chat_id == SEAN && said[0].text.contains("only read text"), "{said:?}");
    let mut edited = scene.telegram.message(SEAN, SEAN, "an edit is no question");
    edited["edit_date"] = json!(1);
    scene.telegram.tell(json!({ "edited_message": edited }));
    scene.runtime.block_on(scene.telegram.until_confirmed());
    scene.ask(SEAN, SEAN, "and now a question");
    let said = scene.sent(2);
    assert!(said[1].text.contains("and now a question"));
    assert_eq!(scene.provider.requests().len(), 1);
}
