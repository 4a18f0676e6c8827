//! Keys that not everybody may see. What a participant may not read is absent to it.

use super::room::{Room, SESSION, names};
use serde_json::{Value, json};

/// A session with a secret of the orchestrator, something open, and two subagents who may not see the secret.
struct Scene {
    room: Room,
    orchestrator: String,
    insider: String,
    outsider: String,
}

impl std::ops::Deref for Scene {
    type Target = Room;

    fn deref(&self) -> &Room {
        &self.room
    }
}

async fn scene() -> Scene {
    let room = Room::new(json!({"acl": true})).await;
    let orchestrator = room.participant("orchestrator").await;
    let insider = room.participant("subagent:audit:1").await;
    let outsider = room.participant("subagent:review").await;
    let secret = json!({"action": "write", "key": "secret", "value": "CANARY one",
                        "readable_by": ["orchestrator", "subagent:audit:*"], "writable_by": ["orchestrator"]});
    room.as_(&orchestrator, secret).await;
    room.as_(&orchestrator, json!({"action": "write", "key": "open", "value": "for all"})).await;
    Scene { room, orchestrator, insider, outsider }
}

#[tokio::test]
async fn a_hidden_key_is_absent_wherever_one_may_look() {
    let scene = scene().await;
    scene.as_(&scene.orchestrator, json!({"action": "snapshot", "label": "s"})).await;
    scene.as_(&scene.orchestrator, json!({"action": "write", "key": "secret", "value": "CANARY two"})).await;
    let looks = [
        json!({"action": "list_keys"}),
        json!({"action": "list_keys", "prefix": "sec"}),
        json!({"action": "read", "key": "secret"}),
        json!({"action": "read_batch", "keys": ["secret", "open"]}),
        json!({"action": "read_history", "key": "secret"}),
        json!({"action": "read_history", "key": "secret", "versions": [1]}),
        json!({"action": "list_snapshots"}),
        json!({"action": "read_snapshot", "label": "s"}),
        json!({"action": "diff", "from": 0, "to": "now"}),
        json!({"action": "diff", "from": "s", "to": "now"}),
        json!({"action": "diff", "from": "now", "to": 0}),
    ];
    for request in looks {
        let asked_for = request["key"] == "secret" || request["keys"][0] == "secret";
        let answer = scene.try_as(&scene.outsider, request.clone()).await;
        assert!(!answer.text.contains("CANARY"), "{request}: {}", answer.text);
        assert!(asked_for || !answer.text.contains("secret"), "{request}: {}", answer.text);
    }
    for action in ["read", "read_history", "delete"] {
        let answer = scene.try_as(&scene.outsider, json!({"action": action, "key": "secret"})).await;
        let never = scene.try_as(&scene.outsider, json!({"action": action, "key": "never_was"})).await;
        assert_eq!(
            (answer.status, &answer.text),
            (never.status, &never.text),
            "{action}: hidden and absent look alike"
        );
        answer.refused(404, "KEY_NOT_FOUND");
    }
    let batch = scene.as_(&scene.outsider, json!({"action": "read_batch", "keys": ["secret", "open"]})).await;
    assert_eq!((names(&batch["entries"]), &batch["missing"]), (vec!["open".to_owned()], &json!(["secret"])));
    let request = json!({"action": "read_snapshot", "label": "s", "keys": ["secret"]});
    assert_eq!(scene.as_(&scene.outsider, request).await["missing"], json!(["secret"]));
    let prompt = scene.world.get(&format!("/sessions/{SESSION}/prompt")).by(&scene.outsider).send().await;
    assert!(!prompt.text.contains("`secret`"));
}

#[tokio::test]
async fn those_who_may_see_it_do() {
    let scene = scene().await;
    for token in [&scene.insider, &scene.orchestrator] {
        assert_eq!(scene.keys(token).await, ["open", "secret"]);
        let read = scene.as_(token, json!({"action": "read", "key": "secret"})).await;
        assert_eq!(read["value"], "CANARY one");
        let diff = scene.as_(token, json!({"action": "diff", "from": 0, "to": "now"})).await;
        assert_eq!(names(&diff["added"]), ["open", "secret"]);
    }
}

#[tokio::test]
async fn a_pattern_means_what_it_says() {
    let room = Room::new(json!({"acl": true})).await;
    let names = ["orchestrator", "subagent:audit", "subagent:audit:1", "subagent:auditor", "subagent:review:1"];
    let mut tokens = Vec::new();
    for name in names {
        tokens.push(room.participant(name).await);
    }
    let cases = [
        (json!(["*"]), [true, true, true, true, true]),
        (json!([]), [false; 5]),
        (json!(["subagent:audit"]), [false, true, false, false, false]),
        (json!(["subagent:audit:*"]), [false, false, true, false, false]),
        (json!(["subagent:audit*"]), [false, true, true, true, false]),
        (json!(["*:1"]), [false, false, true, false, true]),
        (json!(["subagent:*:1", "orchestrator"]), [true, false, true, false, true]),
        (json!(["ORCHESTRATOR"]), [false; 5]),
    ];
    for (n, (patterns, expected)) in cases.into_iter().enumerate() {
        let key = format!("k{n}");
        let request = json!({"action": "write", "key": key, "value": "x", "readable_by": patterns});
        room.as_(&tokens[0], request).await;
        for (token, expected) in tokens.iter().zip(expected) {
            let answer = room.try_as(token, json!({"action": "read", "key": key})).await;
            assert_eq!(answer.status == 200, expected, "{patterns} {expected}");
        }
    }
}

#[tokio::test]
async fn a_key_one_may_not_see_can_neither_be_written_nor_deleted_nor_guessed() {
    let scene = scene().await;
    let before = scene.as_(&scene.orchestrator, json!({"action": "list_keys"})).await;
    for extra in [
        json!({}),
        json!({"if_version": 0}),
        json!({"if_version": 1}),
        json!({"if_rev": 77}),
        json!({"readable_by": ["*"]}),
    ] {
        let mut request = json!({"action": "write", "key": "secret", "value": "x".repeat(4000)});
        request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let details = scene.try_as(&scene.outsider, request).await.refused(403, "FORBIDDEN");
        assert_eq!(details, Value::Null, "no version, no writer");
    }
    for extra in [json!({}), json!({"if_version": 1}), json!({"if_version": 9})] {
        let mut request = json!({"action": "delete", "key": "secret"});
        request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        scene.try_as(&scene.outsider, request).await.refused(404, "KEY_NOT_FOUND");
    }
    assert_eq!(scene.as_(&scene.orchestrator, json!({"action": "list_keys"})).await, before);
}

#[tokio::test]
async fn a_key_one_may_read_but_not_write_is_forbidden_to_change() {
    let scene = scene().await;
    let write = json!({"action": "write", "key": "secret", "value": "x"});
    scene.try_as(&scene.insider, write).await.refused(403, "FORBIDDEN");
    let delete = json!({"action": "delete", "key": "secret"});
    scene.try_as(&scene.insider, delete).await.refused(403, "FORBIDDEN");
    let read = scene.as_(&scene.insider, json!({"action": "read", "key": "secret"})).await;
    assert_eq!((&read["version"], &read["value"]), (&json!(1), &json!("CANARY one")));
}

#[tokio::test]
async fn only_the_writer_or_the_orchestrator_changes_who_may_see_a_key() {
    let scene = scene().await;
    let own = json!({"action": "write", "key": "mine", "value": "1", "writable_by": ["*"]});
    scene.as_(&scene.outsider, own).await;
    let hide = json!({"action": "write", "key": "mine", "value": "2", "readable_by": ["subagent:audit:*"]});
    scene.try_as(&scene.insider, hide.clone()).await.refused(403, "FORBIDDEN");
    scene.try_as(&scene.owner, hide).await.refused(403, "FORBIDDEN");
    assert_eq!(scene.as_(&scene.outsider, json!({"action": "read", "key": "mine"})).await["version"], 1);
    // Writing without a word about the lists leaves them as they are.
    scene.as_(&scene.insider, json!({"action": "write", "key": "mine", "value": "3"})).await;
    let narrow = json!({"action": "write", "key": "mine", "value": "4",
                        "readable_by": ["subagent:review", "orchestrator"], "writable_by": ["subagent:review"]});
    scene.as_(&scene.outsider, narrow).await;
    scene.try_as(&scene.insider, json!({"action": "read", "key": "mine"})).await.refused(404, "KEY_NOT_FOUND");
    let reopen = json!({"action": "write", "key": "mine", "value": "5", "readable_by": ["*"], "writable_by": ["*"]});
    scene.as_(&scene.orchestrator, reopen).await;
    assert_eq!(scene.as_(&scene.insider, json!({"action": "read", "key": "mine"})).await["version"], 4);
}

#[tokio::test]
async fn what_was_hidden_when_it_was_written_stays_hidden_whatever_becomes_of_the_key() {
    let open = json!({"action": "write", "key": "secret", "value": "now public", "readable_by": ["*"]});
    for end in [open.clone(), json!({"action": "delete", "key": "secret"})] {
        let scene = scene().await;
        scene.as_(&scene.orchestrator, json!({"action": "snapshot", "label": "s"})).await;
        scene.as_(&scene.orchestrator, end.clone()).await;
        let looks = [
            json!({"action": "read_snapshot", "label": "s"}),
            json!({"action": "diff", "from": 0, "to": 1}),
            json!({"action": "diff", "from": 2, "to": 0}),
            json!({"action": "diff", "from": 0, "to": "s"}),
            json!({"action": "diff", "from": "0", "to": "2"}),
        ];
        for request in looks {
            let answer = scene.try_as(&scene.outsider, request.clone()).await;
            assert!(!answer.text.contains("secret"), "{end}: {request}: {}", answer.text);
            assert!(scene.try_as(&scene.insider, request).await.ok().to_string().contains("secret"));
        }
        let answer = scene.try_as(&scene.outsider, json!({"action": "read_history", "key": "secret"})).await;
        assert!(!answer.text.contains("CANARY"), "{end}: {}", answer.text);
        if end == open {
            let history = answer.ok()["history"].clone();
            assert_eq!((history.as_array().unwrap().len(), &history[0]["value"]), (1, &json!("now public")));
        } else {
            answer.refused(404, "KEY_NOT_FOUND");
        }
    }
}

#[tokio::test]
async fn a_key_that_was_hidden_later_disappears_from_earlier_moments_too() {
    let scene = scene().await;
    scene.as_(&scene.orchestrator, json!({"action": "snapshot", "label": "s"})).await;
    let hide = json!({"action": "write", "key": "open", "value": "x", "readable_by": ["orchestrator"]});
    scene.as_(&scene.orchestrator, hide).await;
    let absent = async |when: &str| {
        let looks = [
            json!({"action": "list_keys"}),
            json!({"action": "read_snapshot", "label": "s"}),
            json!({"action": "diff", "from": 0, "to": 2}),
            json!({"action": "diff", "from": "s", "to": "now"}),
        ];
        for request in looks {
            let answer = scene.try_as(&scene.outsider, request.clone()).await;
            assert!(!answer.text.contains("open"), "{when}: {request}: {}", answer.text);
        }
        let history = json!({"action": "read_history", "key": "open"});
        scene.try_as(&scene.outsider, history).await.refused(404, "KEY_NOT_FOUND");
    };
    absent("while it is hidden").await;
    scene.as_(&scene.orchestrator, json!({"action": "delete", "key": "open"})).await;
    absent("after it was deleted").await;
}

#[tokio::test]
async fn a_stream_shows_each_participant_its_own() {
    let scene = scene().await;
    let path = format!("/sessions/{SESSION}/events");
    let mut outside = scene.world.get(&path).by(&scene.outsider).stream().await;
    let mut inside = scene.world.get(&path).by(&scene.insider).stream().await;
    let mut narrowed = scene.world.get(&format!("{path}?keys=secret")).by(&scene.outsider).stream().await;
    let mut again = scene.world.get(&path).by(&scene.outsider).header("last-event-id", "0").stream().await;
    scene.as_(&scene.orchestrator, json!({"action": "write", "key": "secret", "value": "2"})).await;
    scene.as_(&scene.orchestrator, json!({"action": "delete", "key": "secret"})).await;
    scene.as_(&scene.orchestrator, json!({"action": "write", "key": "open", "value": "2"})).await;
    scene.as_(&scene.orchestrator, json!({"action": "snapshot", "label": "end"})).await;
    let kinds = |events: Vec<testkit::StreamEvent>| -> Vec<String> {
        events
            .into_iter()
            .map(|event| format!("{} {}", event.kind, event.data["key"].as_str().unwrap_or("-")))
            .collect()
    };
    assert_eq!(kinds(outside.take(2).await), ["CONTEXT_WRITTEN open", "CONTEXT_SNAPSHOT -"]);
    assert_eq!(kinds(narrowed.take(1).await), ["CONTEXT_SNAPSHOT -"]);
    assert_eq!(kinds(again.take(3).await), ["CONTEXT_WRITTEN open", "CONTEXT_WRITTEN open", "CONTEXT_SNAPSHOT -"]);
    let seen = ["CONTEXT_WRITTEN secret", "CONTEXT_DELETED secret", "CONTEXT_WRITTEN open", "CONTEXT_SNAPSHOT -"];
    assert_eq!(kinds(inside.take(4).await), seen);
}

#[tokio::test]
async fn only_the_orchestrator_or_the_creator_turns_back_time() {
    let scene = scene().await;
    let restore = json!({"action": "restore_snapshot", "label": "s"});
    scene.as_(&scene.outsider, json!({"action": "snapshot", "label": "s"})).await;
    for token in [&scene.outsider, &scene.insider] {
        scene.try_as(token, restore.clone()).await.refused(403, "FORBIDDEN");
    }
    scene.as_(&scene.orchestrator, restore.clone()).await;
    // The creator may, though it may not see the secret; the answer does not tell it.
    let answer = scene.try_as(&scene.owner, restore).await;
    assert!(!answer.text.contains("secret"), "{}", answer.text);
    answer.ok();
    let read = scene.as_(&scene.insider, json!({"action": "read", "key": "secret"})).await;
    assert_eq!((&read["value"], &read["written_by"]), (&json!("CANARY one"), &json!("user:usr_owner")));
    scene.try_as(&scene.outsider, json!({"action": "read", "key": "secret"})).await.refused(404, "KEY_NOT_FOUND");
}

#[tokio::test]
async fn the_owner_sees_everything_in_the_whole_view_and_nobody_else_does() {
    let scene = scene().await;
    assert_eq!(scene.keys(&scene.owner).await, ["open"], "as a participant the owner is bound by the lists");
    let path = format!("/admin/sessions/{SESSION}/context");
    let inspected = scene.world.get(&path).by(&scene.owner).send().await.ok();
    assert_eq!(names(&inspected["entries"]), ["open", "secret"]);
    assert_eq!(inspected["entries"][1]["value"], "CANARY one");
    assert_eq!(inspected["entries"][1]["readable_by"], json!(["orchestrator", "subagent:audit:*"]));
    for token in [&scene.outsider, &scene.orchestrator] {
        scene.world.get(&path).by(token).send().await.refused(403, "FORBIDDEN");
    }
    let stranger = scene.world.member("mallory").await;
    scene.world.get(&path).by(&stranger).send().await.refused(404, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn a_member_sees_all_of_their_own_session_without_being_admin() {
    let world = testkit::World::new().await;
    let sean = world.member("sean").await;
    world.session(&sean, "own", json!({"acl": true})).await;
    let orchestrator = world.participant(&sean, "own", "orchestrator").await;
    let secret = json!({"action": "write", "key": "secret", "value": "v", "readable_by": ["orchestrator"]});
    world.context(&orchestrator, "own", &secret).send().await.ok();
    let inspected = world.get("/admin/sessions/own/context").by(&sean).send().await.ok();
    assert_eq!(inspected["entries"][0]["value"], "v");
}

#[tokio::test]
async fn a_session_without_access_lists_refuses_them() {
    let room = Room::new(json!({})).await;
    let before = room.state().await;
    for field in ["readable_by", "writable_by"] {
        let request = json!({"action": "write", "key": "a", "value": "x", field: ["*"]});
        room.refuses(request, 400, "INVALID_REQUEST").await;
    }
    assert_eq!(room.state().await, before);
    let review = room.participant("subagent:review").await;
    room.does(json!({"action": "snapshot", "label": "s"})).await;
    room.as_(&review, json!({"action": "restore_snapshot", "label": "s"})).await;
}
