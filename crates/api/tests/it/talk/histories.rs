//! Histories: what a turn is told, what is kept, and what stands for the rest when there is too much of it.

use super::{Talk, items};
use serde_json::{Value, json};
use testkit::{Fault, ModelRequest, Turn};

fn told(request: &ModelRequest) -> String {
    request.messages().iter().filter(|message| message["role"] != "system").map(Value::to_string).collect()
}

fn is_summary(request: &ModelRequest) -> bool {
    request.system().contains("Summarise the record")
}

#[tokio::test]
async fn turns_that_run_at_once_see_the_history_as_of_their_start() {
    let talk = Talk::new().await;
    talk.ask("in the beginning").await;
    talk.provider.block();
    let mut tasks = Vec::new();
    for name in ["first", "second", "third"] {
        tasks.push(talk.leave("agent_coder", &format!("the {name} question")).await);
        talk.provider.until_asked(tasks.len() + 1).await;
    }
    talk.provider.release();
    for task in &tasks {
        assert_eq!(talk.ended(task).await["status"], "completed");
    }
    let requests = talk.provider.requests();
    for (number, request) in requests[1..].iter().enumerate() {
        let told = told(request);
        assert!(told.contains("You said: in the beginning"), "{told}");
        for (other, name) in ["first", "second", "third"].iter().enumerate() {
            assert_eq!(told.contains(&format!("the {name} question")), other <= number, "{number}: {told}");
            assert!(!told.contains(&format!("You said: the {name}")), "{number}: {told}");
        }
    }
    let history = talk.history().await;
    let answers: Vec<_> = history.iter().filter(|message| message["role"] == "assistant").collect();
    assert_eq!(answers.len(), 4);
    for answer in answers {
        let asked = history.iter().find(|message| message["id"] == answer["in_reply_to"]).unwrap();
        assert_eq!(answer["content"], format!("You said: {}", asked["content"].as_str().unwrap()));
    }
}

#[tokio::test]
async fn a_history_is_read_page_by_page_without_a_gap() {
    let talk = Talk::new().await;
    for number in 0..6 {
        talk.ask(&format!("question {number}")).await;
    }
    for limit in [1, 2, 5, 11, 12, 500] {
        let (mut numbers, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/sessions/s/messages?limit={limit}{cursor}");
            let page = talk.world.get(&path).by(&talk.owner).send().await.ok();
            numbers.extend(page["items"].as_array().unwrap().iter().map(|message| message["number"].as_u64().unwrap()));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(numbers, (1..=12).collect::<Vec<_>>(), "{limit} at once");
    }
    let path = "/sessions/s/messages?cursor=nonsense";
    talk.world.get(path).by(&talk.owner).send().await.refused(400, "INVALID_REQUEST");
    let tasks = format!("/my/projects/{}/tasks?limit=4", talk.project);
    let first = talk.world.get(&tasks).by(&talk.owner).send().await.ok();
    let next = format!("{tasks}&cursor={}", first["next_cursor"].as_str().unwrap());
    let second = items(talk.world.get(&next).by(&talk.owner).send().await);
    assert_eq!(second.len(), 2);
    assert!(first["items"][3]["id"].as_str() > second[0]["id"].as_str(), "newest first");
}

#[tokio::test]
async fn a_history_that_is_too_long_is_summarised_and_stays_as_it_was() {
    let talk = Talk::new().await;
    talk.provider.answering(|request| is_summary(request).then(|| Turn::say("SUMMARY-OF-IT-ALL")));
    let mut said = Vec::new();
    for number in 0..8 {
        said.push(format!("ORIGINAL-{number} {}", "blah ".repeat(150)));
        let sent = talk.ask(&said[number]).await;
        assert_eq!(sent["status"], "completed", "{sent}");
    }
    let history = talk.history().await;
    let summaries: Vec<_> = history.iter().filter(|message| message["role"] == "summary").collect();
    assert!(!summaries.is_empty(), "{} messages and no summary", history.len());
    for text in &said {
        assert!(history.iter().any(|message| message["content"] == *text), "an original has gone");
    }
    let covers = summaries.last().unwrap()["covers"].as_u64().unwrap();
    assert!(covers > 0 && covers < summaries.last().unwrap()["number"].as_u64().unwrap());
    talk.provider.answering(|request| (!is_summary(request)).then(|| Turn::say("The end.")));
    talk.ask("and what was the first?").await;
    let told = told(talk.provider.requests().iter().rfind(|request| !is_summary(request)).unwrap());
    assert!(told.contains("SUMMARY-OF-IT-ALL") && !told.contains("ORIGINAL-0"), "{told}");
    talk.spent().await;
}

#[tokio::test]
async fn a_summary_stands_for_nothing_that_its_turn_was_not_told() {
    let talk = Talk::new().await;
    for (agent, limit) in [("agent_coder", 1), ("agent_writer", 10)] {
        talk.patch_agent(agent, json!({"concurrency_limit": limit})).await;
    }
    talk.provider.answering(|request| {
        let long = format!("a long answer {}", "blah ".repeat(500));
        let text = request.last_user_text();
        match () {
            () if is_summary(request) => Some(Turn::say("SUMMARY")),
            () if text.contains("never answered") => Some(Turn::fault(Fault::Hang)),
            () if text.contains("tell me much") => Some(Turn::say(&long)),
            () => None,
        }
    });
    talk.provider.block();
    let held = talk.leave("agent_coder", "never answered").await;
    let mut others = Vec::new();
    for number in 0..6 {
        others.push(talk.leave("agent_writer", &format!("tell me much {number}")).await);
    }
    talk.provider.until_in_flight(7).await;
    let own = talk.leave("agent_coder", "what have they said?").await;
    others.push(talk.leave("agent_researcher", "ASKED-LATER").await);
    talk.provider.until_in_flight(8).await;
    talk.provider.release();
    for task in &others {
        assert_eq!(talk.ended(task).await["status"], "completed");
    }
    talk.cancelling(&held).send().await.ok();
    assert_eq!(talk.ended(&own).await["status"], "completed");
    let history = talk.history().await;
    assert!(history.iter().any(|message| message["role"] == "summary"), "{history:?}");
    let asked = talk.provider.requests().len();
    talk.ask("the next question").await;
    let told: String = talk.provider.requests()[asked..].iter().map(told).collect();
    assert!(told.contains("ASKED-LATER"), "nobody has summarised it, and it is not told: {told}");
}

#[tokio::test]
async fn turns_that_failed_leave_a_history_that_the_next_can_be_told() {
    let talk = Talk::new().await;
    let write = json!({"action": "write", "key": "k", "value": "v"});
    talk.provider.script(vec![
        Turn::call("shared_context", write),
        Turn::fault(Fault::Status(400, None)),
        Turn::say("I know what happened."),
    ]);
    let failed = talk.ask("do it").await;
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!("PROVIDER_REFUSED")));
    assert!(failed["reply"].is_null(), "{failed}");
    assert_eq!(talk.ask("what happened?").await["reply"]["content"], "I know what happened.");
    let last = talk.provider.requests().pop().unwrap();
    assert!(told(&last).contains("do it") && !last.tool_results().is_empty(), "{:?}", last.messages());
    // Every call in what a model is told has its result right behind it.
    let calls = last.messages().iter().filter(|message| message["tool_calls"].is_array()).count();
    assert_eq!(calls, last.tool_results().len());
}
