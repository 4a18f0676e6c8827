//! Calls on people's machines as tasks of MCP, for clients that know these.

use super::clients::{Client, NEW, OLD};
use super::desks::{Desk, Told, agent_of};
use serde_json::{Value, json};
use testkit::World;

fn knowing_tasks(mut params: Value) -> Value {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    params
}

/// A write that goes on as a task.
async fn write(desk: &mut Desk<'_>) -> Value {
    let arguments = json!({"path": "a", "content": "", "wait_s": 0});
    let call = knowing_tasks(json!({"name": "tool_write_file", "arguments": arguments}));
    let task = desk.client.result("tools/call", call).await;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    task
}

async fn get(client: &mut Client<'_>, task: &Value) -> Value {
    client.result("tasks/get", knowing_tasks(json!({"taskId": task["taskId"]}))).await
}

#[tokio::test]
async fn a_call_that_has_to_wait_is_a_task_under_its_own_id_until_its_end() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let task = write(&mut desk).await;
    let call = desk.asked_for().await;
    assert_eq!(task["taskId"], call["id"]);
    let waiting = desk.bench.node.preview(&call, &json!({"exists": false})).await.ok();
    let seen = get(&mut desk.client, &task).await;
    assert_eq!(seen["status"], "working", "what a person has to say is nothing that the client could: {seen}");
    assert!(seen["statusMessage"].as_str().is_some_and(|text| text.contains("waiting_approval")), "{seen}");
    assert!(seen.get("inputRequests").is_none());
    let answers = json!({"taskId": task["taskId"], "inputResponses": {"approve": {"action": "accept", "content": {}}}});
    desk.client.result("tasks/update", knowing_tasks(answers)).await;
    assert_eq!(desk.bench.call(&call).await["status"], "waiting_approval", "a client agrees to nothing");
    desk.bench.approve(&waiting).await;
    let call = desk.asked_for().await;
    desk.does(&call, &json!({"success": true, "size": 0})).await;
    let seen = get(&mut desk.client, &task).await;
    assert_eq!(seen["status"], "completed");
    Told::of(&seen["result"]).is("completed");
}

#[tokio::test]
async fn a_task_is_cancelled_until_it_has_begun_and_then_comes_to_its_end() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let task = write(&mut desk).await;
    let cancel = |task: &Value| knowing_tasks(json!({"taskId": task["taskId"]}));
    desk.client.result("tasks/cancel", cancel(&task)).await;
    assert_eq!(get(&mut desk.client, &task).await["status"], "cancelled");
    desk.client.result("tasks/cancel", cancel(&task)).await;
    assert!(desk.bench.node.open().await.is_empty());
    let task = write(&mut desk).await;
    let waiting = desk.bench.node.preview(&desk.asked_for().await, &json!({"exists": false})).await.ok();
    desk.bench.approve(&waiting).await;
    let call = desk.asked_for().await;
    desk.bench.node.accept(&call).await.ok();
    desk.client.result("tasks/cancel", cancel(&task)).await;
    assert_eq!(desk.bench.call(&call).await["status"], "accepted", "it is being done");
    desk.bench.node.result(&call, &json!({"success": false})).await.ok();
    let seen = get(&mut desk.client, &task).await;
    assert_eq!((&seen["status"], &seen["result"]["isError"]), (&json!("completed"), &json!(true)));
}

#[tokio::test]
async fn what_ends_at_once_is_no_task_and_who_does_not_know_tasks_gets_none() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let refused = knowing_tasks(json!({"name": "tool_read_file", "arguments": {"path": "../a"}}));
    Told::of(&desk.client.result("tools/call", refused).await).failed("invalid", "INVALID_PATH");
    let task = write(&mut desk).await;
    let unknowing = desk.client.error("tasks/get", json!({"taskId": task["taskId"]})).await;
    assert_eq!(unknowing["code"], -32021);
    desk.uses("tool_read_file", json!({"path": "a", "wait_s": 0})).await.is("dispatched");
    let mut old = Desk::beside(desk.bench, OLD[0]).await;
    let read = json!({"name": "tool_read_file", "arguments": {"path": "a", "wait_s": 0}});
    Told::of(&old.client.result("tools/call", knowing_tasks(read)).await).is("dispatched");
}

#[tokio::test]
async fn a_task_is_nobody_elses() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let task = write(&mut desk).await;
    let other = world.agent_token(&desk.bench.owner, json!({"agent": agent_of(&desk.bench, 1).await})).await;
    let mut other = Client::new(&world, &other, NEW).await;
    let mut person = Client::new(&world, &desk.bench.owner, NEW).await;
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        for id in [task["taskId"].clone(), json!("call_nothing"), json!("")] {
            let params = knowing_tasks(json!({"taskId": id, "inputResponses": {}}));
            let refused = other.error(method, params.clone()).await;
            assert_eq!(refused["data"]["error"]["code"], "TOOL_CALL_NOT_FOUND", "{method} {id}: {refused}");
            assert_eq!(person.error(method, params).await["data"]["error"]["code"], "FORBIDDEN");
        }
        let shapeless = knowing_tasks(json!({"taskId": 7}));
        assert_eq!(other.error(method, shapeless).await["code"], -32602);
    }
    assert_eq!(get(&mut desk.client, &task).await["status"], "working");
}
