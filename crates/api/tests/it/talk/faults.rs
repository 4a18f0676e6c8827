//! Providers that fail in every way: a clear end, nothing done of what was incomplete, money to the micro-dollar.

use super::{OWN, Talk, micros};
use serde_json::{Value, json};
use testkit::{Fault, Turn};

/// A model with room for the whole story, so that nothing is summarised.
const MODEL: &str = "gpt-4-turbo";
/// What `Turn::say` reports costs with it: 100 tokens in, 20 out.
const USED: u64 = 100 * 10 + 20 * 30;

/// What a fault costs, beside an answer.
#[derive(Clone, Copy, PartialEq)]
enum Cost {
    Nothing,
    /// Nobody knows: what was set aside.
    SetAside,
    /// Of a call that may have been charged for, and of the one after it.
    SetAsideAndUsed,
    Used,
    /// Reported for as many calls.
    UsedTimes(u64),
    Counted,
}

struct Case {
    name: &'static str,
    script: Vec<Turn>,
    /// `completed`, or why not.
    end: &'static str,
    cost: Cost,
}

fn case(name: &'static str, script: Vec<Turn>, end: &'static str, cost: Cost) -> Case {
    Case { name, script, end, cost }
}

/// Text and a call that must never be made unless all of it arrived.
fn writing(key: &str) -> Turn {
    Turn::say("I write it down now, as you told me to.").and_call("workspace_write", json!({"key": key, "value": "x"}))
}

fn broken(fault: Fault) -> Turn {
    writing("never").with(fault)
}

fn cases() -> Vec<Case> {
    let status = |status| broken(Fault::Status(status, None));
    let limited = broken(Fault::Status(429, Some("0".into())));
    let well = || Turn::say("Well.");
    vec![
        case("refused", vec![status(400)], "PROVIDER_REFUSED", Cost::Nothing),
        case("no such key", vec![status(401)], "PROVIDER_REFUSED", Cost::Nothing),
        case(
            "redirected",
            vec![broken(Fault::Redirect(307, "http://127.0.0.1:1/".into()))],
            "PROVIDER_REFUSED",
            Cost::Nothing,
        ),
        case("slowed down once", vec![limited, well()], "completed", Cost::Used),
        case("failing once", vec![status(500), well()], "completed", Cost::Used),
        case("overloaded once", vec![status(503), well()], "completed", Cost::Used),
        case("closed without a word, once", vec![broken(Fault::Close), well()], "completed", Cost::SetAsideAndUsed),
        case("lost on the way, once", vec![status(504), well()], "completed", Cost::SetAsideAndUsed),
        case("an error instead of words, once", vec![broken(Fault::ErrorInStream), well()], "completed", Cost::Used),
        case("cut at once", vec![broken(Fault::CutAt(0))], "PROVIDER_FAILED", Cost::SetAside),
        case("garbage", vec![broken(Fault::Garbage)], "PROVIDER_FAILED", Cost::SetAside),
        case("a web page", vec![broken(Fault::WebPage)], "PROVIDER_FAILED", Cost::SetAside),
        case("endless", vec![broken(Fault::Huge)], "PROVIDER_FAILED", Cost::SetAside),
        case("not UTF-8", vec![broken(Fault::BadUtf8)], "PROVIDER_FAILED", Cost::SetAside),
        case("without an end", vec![broken(Fault::NoFinish)], "PROVIDER_FAILED", Cost::SetAside),
        case("an error after words", vec![broken(Fault::ErrorAfterText)], "PROVIDER_FAILED", Cost::SetAside),
        case("silent in the middle", vec![broken(Fault::HangAfter(900))], "PROVIDER_TIMEOUT", Cost::SetAside),
        case("half of the arguments", vec![broken(Fault::TruncatedToolJson), well()], "completed", Cost::UsedTimes(2)),
        case(
            "half of the arguments, out of tokens",
            vec![broken(Fault::TruncatedToolJson).cut_short()],
            "OUTPUT_INCOMPLETE",
            Cost::Used,
        ),
        case("whole arguments, out of tokens", vec![writing("never").cut_short()], "OUTPUT_INCOMPLETE", Cost::Used),
        case("no such tool", vec![Turn::call("delete_everything", json!({})), well()], "completed", Cost::UsedTimes(2)),
        case(
            "a list of arguments",
            vec![Turn::call("workspace_write", json!(["never"])), well()],
            "completed",
            Cost::UsedTimes(2),
        ),
        case("nothing said", vec![Turn::say("")], "OUTPUT_INCOMPLETE", Cost::Used),
        case("no figures", vec![Turn::say("Well.").with(Fault::NoUsage)], "completed", Cost::Counted),
        case("all at once", vec![Turn::say("Well.").with(Fault::AtOnce)], "completed", Cost::Used),
        case("text out of tokens", vec![Turn::say("Half an ans").cut_short()], "completed", Cost::Used),
    ]
}

impl Talk {
    async fn of_model(model: &str) -> Self {
        let talk = Self::impatient().await;
        talk.patch_agent("agent_coder", json!({"model": model})).await;
        talk
    }

    async fn set_aside(&self) -> u64 {
        let budget = self.world.get(&format!("/workspaces/{OWN}/budget")).by(&self.owner).send().await.ok();
        micros(&budget["reserved_usd"])
    }

    async fn items(&self) -> String {
        let path = format!("/my/projects/{}/agents/agent_coder/tools/workspace_list", self.project);
        self.world.post(&path, &json!({})).by(&self.owner).send().await.ok().to_string()
    }

    /// Runs a script for one message; gives the task, what was set aside for its first call, and what it cost.
    async fn played(&self, agent: &str, script: Vec<Turn>) -> (Value, u64, u64) {
        let before = self.spent().await;
        self.provider.block();
        self.provider.script(script);
        let task = self.leave(agent, "write it down").await;
        self.provider.until_in_flight(1).await;
        let set_aside = self.set_aside().await;
        self.provider.release();
        let task = self.ended(&task).await;
        (task, set_aside, self.spent().await - before)
    }
}

#[tokio::test]
async fn every_fault_of_a_provider_has_a_clear_end_and_a_price() {
    let talk = Talk::of_model(MODEL).await;
    for Case { name, script, end, cost } in cases() {
        let (task, set_aside, spent) = talk.played("agent_coder", script).await;
        let code = task["error"]["code"].as_str().unwrap_or("completed");
        assert_eq!(code, end, "{name}: {task}");
        assert_eq!(task["status"], if end == "completed" { "completed" } else { "failed" }, "{name}");
        assert!(!task.to_string().contains("sk-imitated"), "{name}: {task}");
        match cost {
            Cost::Nothing => assert_eq!(spent, 0, "{name}"),
            Cost::SetAside => assert_eq!(spent, set_aside, "{name}"),
            Cost::SetAsideAndUsed => assert_eq!(spent, set_aside + USED, "{name}"),
            Cost::Used => assert_eq!(spent, USED, "{name}"),
            Cost::UsedTimes(times) => assert_eq!(spent, USED * times, "{name}"),
            Cost::Counted => assert!(spent > 0 && spent < set_aside, "{name}: {spent} of {set_aside}"),
        }
        let last = talk.history().await.pop().unwrap();
        assert_eq!(last["error"]["code"].as_str().unwrap_or("completed"), end, "{name}: {last}");
        assert!(!talk.items().await.contains("never"), "{name}: a call of incomplete output was made");
        assert_eq!(talk.ask("and now?").await["status"], "completed", "{name}: the next message works");
    }
}

#[tokio::test]
async fn silence_before_the_first_word_is_paid_for_and_asked_again() {
    let talk = Talk::of_model(MODEL).await;
    let script = vec![Turn::fault(Fault::Hang), Turn::say("Sorry, I was asleep.")];
    let (task, set_aside, spent) = talk.played("agent_coder", script).await;
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(spent, set_aside + USED);
    assert_eq!(talk.provider.requests().len(), 2);
}

#[tokio::test]
async fn a_provider_that_keeps_failing_is_asked_four_times_and_costs_nothing() {
    let talk = Talk::of_model(MODEL).await;
    let script = vec![Turn::fault(Fault::Status(503, None)); 4];
    let mut events = talk.project_events().await;
    let (task, _, spent) = talk.played("agent_coder", script).await;
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!("PROVIDER_FAILED")), "{task}");
    assert_eq!((talk.provider.requests().len(), spent), (4, 0));
    let told = super::until(&mut events, |event| event.kind == "ALERT").await;
    assert_eq!(told.last().unwrap().data["alert"], "provider_failing");
    let space = talk.space().await;
    assert_eq!((&space["status"], &space["health"]), (&json!("degraded"), &json!("degraded")), "{space}");
    assert_eq!(space["reasons"], json!(["the model provider is failing"]));
    talk.ask("better?").await;
    let space = talk.space().await;
    assert_eq!((&space["status"], &space["health"]), (&json!("ready"), &json!("healthy")), "{space}");
}

#[tokio::test]
async fn an_answer_that_is_cut_anywhere_is_acted_on_only_if_it_was_whole() {
    for model in [MODEL, "claude-sonnet-4-5"] {
        let talk = Talk::of_model(model).await;
        let (mut failed, mut whole) = (0, 0);
        for position in (0..4_000).step_by(97) {
            let key = format!("cut-{position:04}-");
            let script = vec![writing(&key).with(Fault::CutAt(position)), Turn::say("Done.")];
            let (task, set_aside, spent) = talk.played("agent_coder", script).await;
            let made = talk.items().await.contains(&key);
            if task["status"] == "completed" {
                whole += 1;
                assert!(made, "{model} {position}: {task}");
            } else {
                failed += 1;
                assert_eq!(task["error"]["code"], "PROVIDER_FAILED", "{model} {position}: {task}");
                assert!(!made, "{model} {position}: a call of half an answer was made");
                assert_eq!(spent, set_aside, "{model} {position}");
                talk.ask("and now?").await;
            }
        }
        assert!(failed >= 10 && whole >= 1, "{model}: {failed} and {whole}");
    }
}

#[tokio::test]
async fn sixty_five_calls_are_none() {
    let talk = Talk::of_model(MODEL).await;
    let many = (0..65).fold(Turn::say(""), |turn, number| {
        turn.and_call("workspace_write", json!({"key": format!("never-{number}"), "value": "x"}))
    });
    let (task, _, _) = talk.played("agent_coder", vec![many, Turn::say("Too many?")]).await;
    assert!(task["status"] == "completed" || task["error"]["code"] == "PROVIDER_FAILED", "{task}");
    assert!(!talk.items().await.contains("never"));
}
