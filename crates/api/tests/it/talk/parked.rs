//! Tasks that wait for somebody, and tasks that take too long.

use super::{Talk, until};
use domain::ids::TaskId;
use domain::tasks::TaskStatus;
use serde_json::json;
use service::tasks::{end_overdue_tasks_once, resume};
use testkit::Turn;

impl Talk {
    /// A task that waits, and whose turn is over.
    async fn parked(&self, content: &str) -> String {
        self.provider.block();
        let asked = self.provider.requests().len();
        let task = self.leave("agent_coder", content).await;
        self.provider.until_asked(asked + 1).await;
        let (workspace, project) = self.place();
        self.world.park(&workspace, &project, &task).await;
        self.provider.release();
        self.quiet().await;
        task
    }

    async fn resumed(&self, task: &str) -> service::Result<domain::tasks::Task> {
        let (workspace, project) = self.place();
        resume(&self.world.house, &workspace, &project, &TaskId::parse(task).unwrap()).await
    }
}

#[tokio::test]
async fn a_task_that_waits_holds_no_place_and_goes_on_after_a_restart() {
    let talk = Talk::new().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    let task = talk.parked("wait for me").await;
    assert_eq!(talk.task(&task).await["status"], "waiting");
    assert_eq!(talk.history().await.len(), 1, "its turn has said nothing");
    assert_eq!(talk.ask("meanwhile").await["status"], "completed", "the place is free");
    let talk = talk.reopened().await;
    let waiting = talk.task(&task).await;
    assert_eq!((&waiting["status"], &waiting["error"]), (&json!("waiting"), &json!(null)), "{waiting}");
    assert_eq!(talk.space().await["metrics"]["waiting_tasks"], 1);
    assert_eq!(talk.resumed(&task).await.unwrap().status, TaskStatus::Queued);
    assert_eq!(talk.ended(&task).await["status"], "completed");
    let history = talk.history().await;
    assert_eq!(history.last().unwrap()["content"], "You said: wait for me", "{history:?}");
    assert_eq!(talk.resumed(&task).await.unwrap_err().code().as_str(), "TASK_ENDED");
    talk.spent().await;
}

#[tokio::test]
async fn a_turn_whose_task_was_moved_behind_its_back_does_and_keeps_nothing_more() {
    let talk = Talk::new().await;
    let write = json!({"action": "write", "key": "late", "value": "x"});
    talk.provider.script(vec![Turn::say("I write.").and_call("shared_context", write), Turn::say("never asked for")]);
    let task = talk.parked("write it down").await;
    assert_eq!(talk.task(&task).await["status"], "waiting");
    let history = talk.history().await;
    assert_eq!(history.len(), 1, "{history:?}");
    let read = talk.world.context(&talk.owner, "s", &json!({"action": "read", "key": "late"})).send().await;
    assert_eq!(read.status, 404, "{}", read.text);
    assert_eq!((talk.provider.requests().len(), talk.provider.unsaid()), (1, 1));
    assert_eq!(talk.spent().await, 100 * 30 + 20 * 60, "what was used is paid for");
}

#[tokio::test]
async fn a_task_that_waits_can_be_cancelled() {
    let talk = Talk::new().await;
    let task = talk.parked("wait for me").await;
    assert_eq!(talk.cancelling(&task).send().await.ok()["status"], "cancelled");
    assert_eq!(talk.resumed(&task).await.unwrap_err().code().as_str(), "TASK_ENDED");
}

#[tokio::test]
async fn a_task_that_waits_has_no_deadline_and_one_that_runs_too_long_is_given_up() {
    let talk = Talk::new().await;
    let waiting = talk.parked("wait for me").await;
    talk.provider.block();
    let mut events = talk.project_events().await;
    let running = talk.leave("agent_coder", "for ever").await;
    talk.provider.until_in_flight(1).await;
    talk.world.clock.advance_s(30 * 60 - 1);
    let next = end_overdue_tasks_once(&talk.world.house).await.unwrap();
    assert_eq!(next.map(|next| next.as_secs()), Some(1));
    assert_eq!(talk.task(&running).await["status"], "running");
    talk.world.clock.advance_s(1);
    assert_eq!(end_overdue_tasks_once(&talk.world.house).await.unwrap(), None);
    let overdue = talk.task(&running).await;
    assert_eq!(
        (&overdue["status"], &overdue["error"]["code"]),
        (&json!("failed"), &json!("TASK_OVERDUE")),
        "{overdue}"
    );
    talk.provider.until_hung_up(1).await;
    let told = until(&mut events, |event| event.kind == "ALERT").await;
    assert_eq!(told.last().unwrap().data["alert"], "task_overdue");
    assert_eq!(talk.task(&waiting).await["status"], "waiting");
    let history = talk.history().await;
    assert_eq!(history.last().unwrap()["error"]["code"], "TASK_OVERDUE", "{history:?}");
    talk.provider.release();
    assert_eq!(talk.ask("next").await["status"], "completed");
    talk.spent().await;
}
