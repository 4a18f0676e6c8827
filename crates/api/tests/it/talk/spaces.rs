//! Worker spaces: begun once, ended in every way, begun again for whoever needs them.

use super::{Talk, until};
use serde_json::{Value, json};
use service::worker_spaces::end_idle_spaces_once;
use testkit::{Answer, StreamEvent};

impl Talk {
    async fn cleanup(&self) -> Answer {
        let path = format!("/my/projects/{}/worker-space/cleanup", self.project);
        self.world.post(&path, &json!({})).by(&self.owner).send().await
    }

    async fn reset(&self) -> Answer {
        let path = format!("/admin/projects/{}/worker-space/reset", self.project);
        self.world.post(&path, &json!({})).by(&self.owner).send().await
    }

    /// The states the space has come through, up to the last that is meant.
    async fn states(&self, last: &str, times: usize) -> Vec<String> {
        let mut events = self.project_events().await;
        let mut states = Vec::new();
        while states.iter().filter(|state| *state == last).count() < times {
            let seen = until(&mut events, |event| event.kind == "WORKER_SPACE_CHANGED").await;
            states.push(state(seen.last().unwrap()));
        }
        states
    }
}

fn state(event: &StreamEvent) -> String {
    event.data["status"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_hundred_who_come_at_once_begin_a_space_once() {
    let talk = Talk::new().await;
    talk.cleanup().await.ok();
    assert_eq!(talk.space().await["status"], "stopped", "looking does not begin it");
    let body = json!({"content": "x", "target_agent": "agent_coder", "wait_s": 30});
    let asks: Vec<_> = (0..100).map(|_| tokio::spawn(talk.asking("s", &body).send())).collect();
    for ask in asks {
        assert_eq!(ask.await.unwrap().ok()["status"], "completed");
    }
    talk.quiet().await;
    let space = talk.space().await;
    assert_eq!((&space["status"], &space["metrics"]["tasks_ended"]), (&json!("ready"), &json!(100)), "{space}");
    assert_eq!(space["metrics"]["cache_size"], 4);
    talk.cleanup().await.ok();
    let states = talk.states("stopped", 2).await;
    assert_eq!(states, ["cleaning", "stopped", "ready", "cleaning", "stopped"]);
    assert_eq!(talk.space().await["metrics"]["cache_size"], 0);
}

#[tokio::test]
async fn a_space_is_ended_by_its_owner_and_reset_by_an_admin_only() {
    let talk = Talk::new().await;
    let (ann, bob) = (talk.world.member("ann").await, talk.world.member("bob").await);
    talk.world.workspace("team", &["ann", "bob"]).await;
    let made = talk.world.post("/my/projects", &json!({"name": "garden", "workspace": "team"})).by(&ann).send().await;
    let id = made.ok()["id"].as_str().unwrap().to_owned();
    let cleanup =
        |token: &str| talk.world.post(&format!("/my/projects/{id}/worker-space/cleanup"), &json!({})).by(token);
    let reset =
        |token: &str| talk.world.post(&format!("/admin/projects/{id}/worker-space/reset"), &json!({})).by(token);
    cleanup(&bob).send().await.refused(403, "FORBIDDEN");
    reset(&bob).send().await.refused(403, "FORBIDDEN");
    reset(&ann).send().await.refused(403, "FORBIDDEN");
    assert_eq!(cleanup(&ann).send().await.ok()["status"], "stopped");
    assert_eq!(cleanup(&ann).send().await.ok()["status"], "stopped", "twice is once");
    assert_eq!(reset(&talk.owner).send().await.ok()["status"], "ready", "an admin, whatever the project");
}

#[tokio::test]
async fn what_runs_may_finish_when_its_space_is_ended_and_what_is_queued_is_cancelled() {
    let talk = Talk::new().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    talk.provider.block();
    let running = talk.leave("agent_coder", "running").await;
    talk.provider.until_in_flight(1).await;
    let queued = talk.leave("agent_coder", "queued").await;
    let mut events = talk.project_events().await;
    let ending = tokio::spawn(cleaning(&talk));
    until(&mut events, |event| event.kind == "WORKER_SPACE_CHANGED" && state(event) == "cleaning").await;
    talk.provider.release();
    assert_eq!(ending.await.unwrap().ok()["status"], "stopped");
    assert_eq!(talk.task(&running).await["status"], "completed", "what runs may finish");
    assert_eq!(talk.task(&queued).await["status"], "cancelled");
    assert_eq!(talk.ask("go on").await["status"], "completed", "the next message begins it again");
}

fn cleaning(talk: &Talk) -> impl Future<Output = Answer> + Send + 'static {
    let path = format!("/my/projects/{}/worker-space/cleanup", talk.project);
    talk.world.post(&path, &json!({})).by(&talk.owner).send()
}

#[tokio::test]
async fn a_message_that_comes_while_a_space_ends_is_worked_on_in_the_next() {
    let talk = Talk::new().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    talk.provider.block();
    let running = talk.leave("agent_coder", "running").await;
    talk.provider.until_in_flight(1).await;
    let mut events = talk.project_events().await;
    let ending = tokio::spawn(cleaning(&talk));
    until(&mut events, |event| event.kind == "WORKER_SPACE_CHANGED" && state(event) == "cleaning").await;
    // The place is taken by a turn of the space that ends.
    let late = talk.leave("agent_coder", "late").await;
    until(&mut events, |event| event.kind == "WORKER_SPACE_CHANGED" && state(event) == "ready").await;
    talk.provider.release();
    ending.await.unwrap().ok();
    assert_eq!(talk.ended(&running).await["status"], "completed");
    assert_eq!(talk.ended(&late).await["status"], "completed");
}

#[tokio::test]
async fn a_reset_cancels_what_runs_and_runs_what_is_queued() {
    let talk = Talk::new().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    talk.provider.block();
    let running = talk.leave("agent_coder", "running").await;
    talk.provider.until_in_flight(1).await;
    let queued = talk.leave("agent_coder", "queued").await;
    assert_eq!(talk.reset().await.ok()["status"], "ready");
    talk.provider.until_hung_up(1).await;
    let cancelled = talk.task(&running).await;
    assert_eq!((&cancelled["status"], &cancelled["error"]["code"]), (&json!("cancelled"), &json!("CANCELLED")));
    talk.provider.until_asked(2).await;
    talk.provider.release();
    assert_eq!(talk.ended(&queued).await["status"], "completed");
    talk.spent().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resets_in_the_middle_of_a_rush_lose_nothing() {
    let talk = Talk::new().await;
    let mut tasks = Vec::new();
    for round in 0..12 {
        for number in 0..4 {
            tasks.push(talk.leave("agent_coder", &format!("rush {round} {number}")).await);
        }
        talk.reset().await.ok();
    }
    for task in &tasks {
        let task = talk.ended(task).await;
        assert!(["completed", "cancelled"].contains(&task["status"].as_str().unwrap()), "{task}");
    }
    talk.quiet().await;
    for status in ["queued", "running"] {
        assert_eq!(talk.tasks(status).await.len(), 0, "{status}");
    }
    talk.spent().await;
}

#[tokio::test]
async fn a_space_that_idles_for_half_an_hour_ends() {
    let talk = Talk::new().await;
    talk.ask("hello").await;
    talk.quiet().await;
    talk.world.clock.advance_s(30 * 60 - 1);
    let next = end_idle_spaces_once(&talk.world.house).await.unwrap();
    assert!(next.is_some(), "it is looked at again");
    assert_eq!(talk.space().await["status"], "ready");
    talk.world.clock.advance_s(1);
    end_idle_spaces_once(&talk.world.house).await.unwrap();
    assert_eq!(talk.space().await["status"], "stopped");
    assert_eq!(talk.ask("still there?").await["status"], "completed");
    assert_eq!(talk.space().await["status"], "ready");
    // One in which something runs is not idle.
    talk.provider.block();
    let task = talk.leave("agent_coder", "long").await;
    talk.provider.until_in_flight(1).await;
    talk.world.clock.advance_s(29 * 60 + 3600);
    end_idle_spaces_once(&talk.world.house).await.unwrap();
    assert_eq!(talk.space().await["status"], "ready");
    talk.provider.release();
    assert_eq!(talk.ended(&task).await["status"], "completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_comes_as_an_idle_space_ends_is_worked_on() {
    let talk = Talk::new().await;
    for round in 0..40 {
        talk.quiet().await;
        talk.world.clock.advance_s(30 * 60);
        let house = talk.world.house.clone();
        let ending = tokio::spawn(async move {
            for _ in 0..round * 7 % 90 {
                tokio::task::yield_now().await;
            }
            end_idle_spaces_once(&house).await.map(drop)
        });
        let body = json!({"content": format!("round {round}"), "target_agent": "agent_coder", "wait_s": 5});
        let sent = talk.say(body).await;
        ending.await.unwrap().unwrap();
        assert_eq!(sent.status, 200, "round {round}: {}", sent.text);
    }
}

#[tokio::test]
async fn the_last_session_that_is_archived_ends_the_space() {
    let talk = Talk::new().await;
    talk.session("t").await;
    talk.ask("hello").await;
    talk.quiet().await;
    let archive = |session: &str| talk.world.post(&format!("/sessions/{session}/archive"), &json!({})).by(&talk.owner);
    archive("t").send().await.ok();
    assert_eq!(talk.space().await["status"], "ready", "one is open still");
    archive("s").send().await.ok();
    assert_eq!(talk.space().await["status"], "stopped");
    let refused = talk.say(json!({"content": "x", "target_agent": "agent_coder"})).await;
    refused.refused(409, "SESSION_ARCHIVED");
}

#[tokio::test]
async fn whoever_signs_out_with_nothing_running_ends_their_spaces() {
    let talk = Talk::new().await;
    talk.ask("hello").await;
    talk.quiet().await;
    for runs in [true, false] {
        let entered = talk.world.post("/auth/sign-in", &json!({"token": talk.owner})).send().await;
        let cookie = entered.header("set-cookie").split(';').next().unwrap().to_owned();
        assert!(entered.status.is_success() && !cookie.is_empty(), "{}", entered.text);
        if runs {
            talk.provider.block();
            talk.leave("agent_coder", "running").await;
            talk.provider.until_in_flight(1).await;
        }
        let out = talk.world.post("/auth/sign-out", &json!({})).header("cookie", &cookie);
        let out = out.header("origin", "http://localhost:7700").send().await;
        assert_eq!(out.status, 204, "{}", out.text);
        assert_eq!(talk.space().await["status"], if runs { "ready" } else { "stopped" });
        talk.provider.release();
        talk.quiet().await;
    }
}

#[tokio::test]
async fn a_deleted_project_takes_everything_along() {
    let talk = Talk::new().await;
    talk.provider.block();
    talk.leave("agent_coder", "running").await;
    talk.provider.until_in_flight(1).await;
    let path = format!("/my/projects/{}", talk.project);
    talk.world.delete(&path).by(&talk.owner).send().await.ok();
    talk.provider.until_hung_up(1).await;
    talk.quiet().await;
    assert_eq!(talk.world.get(&format!("{path}/tasks")).by(&talk.owner).send().await.status, 404);
    assert_eq!(talk.world.get(&format!("{path}/worker-space")).by(&talk.owner).send().await.status, 404);
    let project = talk.world.project(&talk.owner, "alpha").await["id"].clone();
    talk.world.post("/sessions", &json!({"id": "new", "project": project})).by(&talk.owner).send().await.ok();
    talk.provider.release();
    let body = json!({"content": "x", "target_agent": "agent_coder", "wait_s": 30});
    assert_eq!(talk.asking("new", &body).send().await.ok()["status"], "completed");
    talk.spent().await;
}

#[tokio::test]
async fn a_space_tells_how_it_does() {
    let talk = Talk::new().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    talk.provider.block();
    talk.leave("agent_coder", "running").await;
    talk.provider.until_in_flight(1).await;
    let last = talk.leave("agent_coder", "queued").await;
    let metrics = talk.space().await["metrics"].clone();
    let figures = |name: &str| metrics[name].as_u64().unwrap();
    assert_eq!((figures("agents"), figures("active_agents")), (4, 1), "{metrics}");
    assert_eq!((figures("running_tasks"), figures("queued_tasks"), figures("waiting_tasks")), (1, 1, 0), "{metrics}");
    assert!(figures("cache_hits") > 0, "{metrics}");
    talk.provider.release();
    talk.ended(&last).await;
    talk.quiet().await;
    let space: Value = talk.space().await;
    assert_eq!((&space["health"], &space["reasons"]), (&json!("healthy"), &json!([])));
    assert_eq!(space["metrics"]["tasks_ended"], 2, "{space}");
}
