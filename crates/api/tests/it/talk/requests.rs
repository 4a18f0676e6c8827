//! Requests that are not what they should be.

use super::Talk;
use serde_json::{Value, json};

#[tokio::test]
async fn a_message_is_text_of_a_bounded_length_for_an_agent_that_is_there() {
    let talk = Talk::new().await;
    let with = |content: &str| json!({"content": content, "target_agent": "agent_coder"});
    for content in ["", " \n\t ", "nul \0 inside"] {
        let details = talk.say(with(content)).await.refused(400, "INVALID_REQUEST");
        assert_eq!(details["field"], "content");
    }
    talk.say(with(&"x".repeat(256 * 1024 + 1))).await.refused(413, "VALUE_TOO_LARGE");
    talk.patch_agent("agent_coder", json!({"model": "gpt-4-turbo"})).await;
    assert_eq!(talk.say(with(&"x".repeat(256 * 1024))).await.status, 202);
    let details = talk.say(json!({"content": "x"})).await.refused(400, "INVALID_REQUEST");
    assert_eq!(details["field"], "target_agent");
    let agents = ["agent_analyzer", "agent_coder", "agent_researcher", "agent_writer"];
    let mut named: Vec<&str> = details["agents"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    named.sort_unstable();
    assert_eq!(named, agents);
    talk.say(json!({"content": "x", "target_agent": "nobody"})).await.refused(404, "AGENT_NOT_FOUND");
    talk.say(json!({"content": "x", "target_agent": ""})).await.refused(404, "AGENT_NOT_FOUND");
}

#[tokio::test]
async fn whatever_has_the_wrong_form_is_refused_and_nothing_is_kept() {
    let talk = Talk::new().await;
    let good = json!({"content": "x", "target_agent": "agent_coder"});
    let wrong = [
        ("content", json!(7)),
        ("content", json!(null)),
        ("content", json!(["x"])),
        ("target_agent", json!(7)),
        ("target_agent", json!({"name": "agent_coder"})),
        ("priority", json!("urgent")),
        ("priority", json!(1)),
        ("priority", json!("")),
        ("wait_s", json!(-1)),
        ("wait_s", json!(-0.001)),
        ("wait_s", json!(600.1)),
        ("wait_s", json!(1e300)),
        ("wait_s", json!(u64::MAX)),
        ("wait_s", json!("NaN")),
        ("wait_s", json!("1")),
        ("wait_s", json!(true)),
        ("unknown", json!(1)),
        ("status", json!("completed")),
    ];
    for (field, value) in wrong {
        let mut body = good.clone();
        body[field] = value.clone();
        let answer = talk.say(body).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (400, "INVALID_REQUEST"), "{field} {value}");
    }
    for text in ["", "{", "[]", "null", "{\"content\": NaN}", "{\"content\": \"x\", \"content\": \"y\"}"] {
        let path = "/sessions/s/messages";
        let ask = talk.world.post(path, &json!({})).by(&talk.owner);
        let answer = ask.bytes("application/json", text.as_bytes().to_vec()).send().await;
        assert_eq!(answer.status, 400, "{text}: {}", answer.text);
    }
    assert_eq!((talk.history().await.len(), talk.provider.requests().len()), (0, 0));
}

#[tokio::test]
async fn a_session_without_a_project_has_nobody_to_answer() {
    let talk = Talk::new().await;
    talk.world.session(&talk.owner, "plain", json!({})).await;
    let body = json!({"content": "x", "target_agent": "agent_coder"});
    talk.asking("plain", &body).send().await.refused(400, "INVALID_REQUEST");
    talk.asking("nowhere", &body).send().await.refused(404, "SESSION_NOT_FOUND");
    assert_eq!(talk.history_of("plain").await.len(), 0);
}

#[tokio::test]
async fn tasks_are_looked_at_with_sound_questions_only() {
    let talk = Talk::new().await;
    talk.ask("hello").await;
    for (path, status, code) in [
        ("?status=done", 400, "INVALID_REQUEST"),
        ("?limit=0", 400, "INVALID_REQUEST"),
        ("?limit=501", 400, "INVALID_REQUEST"),
        ("?cursor=garbage", 400, "INVALID_REQUEST"),
        ("?unknown=1", 400, "INVALID_REQUEST"),
        ("/task_unknown", 404, "TASK_NOT_FOUND"),
        ("/..%2f", 404, "TASK_NOT_FOUND"),
    ] {
        let path = format!("/my/projects/{}/tasks{path}", talk.project);
        let answer = talk.world.get(&path).by(&talk.owner).send().await;
        assert!(answer.status == status || answer.status == 400, "{path} {} {}", answer.status, answer.text);
        assert!(answer.code() == code || answer.code() == "INVALID_REQUEST", "{path} {}", answer.text);
    }
}
