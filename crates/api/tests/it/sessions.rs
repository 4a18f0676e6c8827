//! Sessions: how they are named, who sees them, how they end.

use super::room::{Room, SESSION, fields};
use axum::http::Method;
use serde_json::{Value, json};
use testkit::World;

async fn create(world: &World, token: &str, body: Value) -> testkit::Answer {
    world.post("/sessions", &body).by(token).send().await
}

#[tokio::test]
async fn a_session_is_created_under_a_chosen_or_a_generated_id() {
    let world = World::new().await;
    let owner = world.owner().await;
    let answer = create(&world, &owner, json!({"id": "ticket-42", "title": "Throughput"})).await;
    assert_eq!(answer.status, 201);
    let session = answer.ok();
    let expected = [
        "config",
        "created_at",
        "created_by",
        "id",
        "key_count",
        "rev",
        "state",
        "title",
        "total_size_tokens",
        "workspace",
    ];
    assert_eq!(fields(&session), expected);
    assert_eq!((&session["id"], &session["state"]), (&json!("ticket-42"), &json!("active")));
    assert_eq!((&session["created_by"], &session["workspace"]), (&json!("usr_owner"), &json!("personal-usr_owner")));
    let defaults = json!({
        "max_value_tokens": 1000, "warn_value_tokens": 800, "max_store_tokens": 10_000, "token_counter": "approx",
        "namespaces": false, "history_keep": 20, "acl": false,
    });
    assert_eq!(session["config"], defaults);
    assert_eq!(world.get("/sessions/ticket-42").by(&owner).send().await.ok(), session);

    let generated = create(&world, &owner, json!({})).await.ok();
    assert!(generated["id"].as_str().unwrap().starts_with("ses_"));
    assert_ne!(generated["id"], create(&world, &owner, json!({})).await.ok()["id"]);
    world.write(&owner, generated["id"].as_str().unwrap(), "a", "1").await;
}

#[tokio::test]
async fn ids_follow_their_rule_and_never_look_generated() {
    let world = World::new().await;
    let owner = world.owner().await;
    for good in ["a", "A-b_9", &"x".repeat(128), "Ses_1", "ses"] {
        create(&world, &owner, json!({"id": good})).await.ok();
    }
    for bad in ["", "ses_", "ses_1", "a b", "a/b", "a.b", "ä", "a\n", "..", &"x".repeat(129)] {
        let details = create(&world, &owner, json!({"id": bad})).await.refused(400, "INVALID_REQUEST");
        assert_eq!(details["field"], "id", "{bad:?}");
    }
}

#[tokio::test]
async fn an_id_is_taken_once_in_a_workspace_and_each_user_has_their_own() {
    let world = World::new().await;
    let (sean, mia) = (world.member("sean").await, world.member("mia").await);
    world.session(&sean, "ticket-42", json!({})).await;
    create(&world, &sean, json!({"id": "ticket-42"})).await.refused(409, "SESSION_EXISTS");
    // Before mia has one of that name, sean's is nothing to her: not even taken.
    world.get("/sessions/ticket-42").by(&mia).send().await.refused(404, "SESSION_NOT_FOUND");
    world.session(&mia, "ticket-42", json!({})).await;
    world.write(&sean, "ticket-42", "a", "sean's").await;
    world.write(&mia, "ticket-42", "a", "mia's").await;
    for (token, value) in [(&sean, "sean's"), (&mia, "mia's")] {
        let read = world.context(token, "ticket-42", &json!({"action": "read", "key": "a"})).send().await.ok();
        assert_eq!((&read["value"], &read["rev"]), (&json!(value), &json!(1)));
        let listed = world.get("/sessions").by(token).send().await.ok();
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    }
    world.delete("/sessions/ticket-42").by(&mia).send().await.ok();
    let read = world.context(&sean, "ticket-42", &json!({"action": "read", "key": "a"})).send().await.ok();
    assert_eq!(read["value"], "sean's");
}

#[tokio::test]
async fn a_strangers_session_is_not_found_by_any_way_in() {
    let world = World::new().await;
    let (sean, mallory) = (world.member("sean").await, world.member("mallory").await);
    world.session(&sean, "private", json!({})).await;
    world.write(&sean, "private", "a", "CANARY").await;
    let ways = [
        (Method::GET, "/sessions/private", json!({})),
        (Method::GET, "/sessions/private?workspace=personal-usr_sean", json!({})),
        (Method::POST, "/sessions/private/archive", json!({})),
        (Method::DELETE, "/sessions/private", json!({})),
        (Method::GET, "/sessions/private/prompt", json!({})),
        (Method::GET, "/sessions/private/events", json!({})),
        (Method::GET, "/admin/sessions/private/context", json!({})),
        (Method::POST, "/sessions/private/shared_context", json!({"action": "list_keys"})),
        (Method::POST, "/sessions/private/shared_context", json!({"action": "write", "key": "a", "value": "x"})),
        (
            Method::POST,
            "/sessions/private/shared_context?workspace=personal-usr_sean",
            json!({"action": "read", "key": "a"}),
        ),
        (Method::POST, "/my/tokens", json!({"session": "private", "participant": "orchestrator"})),
        (Method::POST, "/my/tokens", json!({"session": "private", "workspace": "personal-usr_sean"})),
    ];
    for (method, path, body) in ways {
        let mut ask = world.ask(method.clone(), path).by(&mallory);
        if method == Method::POST {
            ask = ask.json(&body);
        }
        let answer = ask.send().await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (404, "SESSION_NOT_FOUND"), "{method} {path}");
        let nowhere = world.get("/sessions/nowhere").by(&mallory).send().await;
        assert_eq!(answer.text, nowhere.text, "the same words as for what never was");
    }
    let elsewhere = json!({"id": "x", "workspace": "personal-usr_sean"});
    create(&world, &mallory, elsewhere).await.refused(404, "WORKSPACE_NOT_FOUND");
    let read = world.context(&sean, "private", &json!({"action": "read", "key": "a"})).send().await.ok();
    assert_eq!((&read["value"], &read["version"]), (&json!("CANARY"), &json!(1)));
}

#[tokio::test]
async fn a_config_that_does_not_fit_is_refused_by_name_and_nothing_is_created() {
    let world = World::new().await;
    let owner = world.owner().await;
    let cases = [
        ("max_value_tokens", vec![json!(0), json!(-1), json!("1000"), json!(1.5), json!(u64::MAX), json!([])]),
        ("warn_value_tokens", vec![json!(-1), json!("8"), json!(1001), json!({})]),
        ("max_store_tokens", vec![json!(0), json!(true), json!(u64::MAX), json!(1e40)]),
        ("token_counter", vec![json!("gpt"), json!(1), json!("APPROX"), json!([])]),
        ("namespaces", vec![json!("yes"), json!(1), json!([])]),
        ("history_keep", vec![json!(-1), json!("20"), json!(u64::MAX)]),
        ("acl", vec![json!("true"), json!(0)]),
        (
            "key_conventions",
            vec![json!({}), json!("a"), json!([1]), json!([{"key": "a"}]), json!([{"key": "a", "purpose": 1}])],
        ),
        (
            "key_conventions",
            vec![json!([{"key": "a", "purpose": "p", "extra": "x"}]), json!([{"key": "a", "purpose": "two\nlines"}])],
        ),
        ("colour", vec![json!("red"), json!(null)]),
    ];
    for (field, values) in cases {
        for value in values {
            let answer = create(&world, &owner, json!({"id": "x", "config": {field: value}})).await;
            assert_eq!(answer.status, 400, "{field} {value}: {}", answer.text);
            let details = answer.refused(400, "INVALID_REQUEST");
            let named = details["field"].as_str().unwrap();
            assert!(named.starts_with(&format!("config.{field}")), "{field} {value}: {named}");
        }
    }
    let bad_key = json!({"id": "x", "config": {"key_conventions": [{"key": "No Key", "purpose": "p"}]}});
    assert_eq!(create(&world, &owner, bad_key).await.status, 400);
    for (field, value) in
        [("title", json!(1)), ("id", json!(1)), ("config", json!([])), ("owner", json!("x")), ("title", json!("a\nb"))]
    {
        let mut body = json!({"id": "x"});
        body[field] = value;
        let details = create(&world, &owner, body).await.refused(400, "INVALID_REQUEST");
        assert_eq!(details["field"], field);
    }
    create(&world, &owner, json!({"id": "x", "project": "p1"})).await.refused(404, "PROJECT_NOT_FOUND");
    assert_eq!(world.get("/sessions").by(&owner).send().await.ok()["items"], json!([]));
}

#[tokio::test]
async fn a_config_is_kept_as_chosen() {
    let chosen = json!({
        "max_value_tokens": 10, "warn_value_tokens": 5, "max_store_tokens": 50, "token_counter": "o200k",
        "namespaces": true, "history_keep": 0, "acl": true,
        "key_conventions": [{"key": "a", "purpose": "p", "shape": "s"}, {"key": "b", "purpose": "q"}],
    });
    let room = Room::new(chosen.clone()).await;
    assert_eq!(room.session().await["config"], chosen);
}

#[tokio::test]
async fn sessions_are_listed_in_pages() {
    let world = World::new().await;
    let owner = world.owner().await;
    let mut expected: Vec<String> = (0..7).map(|n| format!("s{n}")).collect();
    for id in expected.iter().rev() {
        world.session(&owner, id, json!({})).await;
    }
    let other = world.member("other").await;
    world.session(&other, "theirs", json!({})).await;
    let (mut found, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = world.get(&format!("/sessions?limit=3{cursor}")).by(&owner).send().await.ok();
        assert_eq!(fields(&page), ["items", "next_cursor"]);
        let items = page["items"].as_array().unwrap();
        found.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        pages += 1;
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    found.sort();
    expected.sort();
    assert_eq!((found, pages), (expected, 3));
    let exact = world.get("/sessions?limit=7").by(&owner).send().await.ok();
    assert_eq!(exact["next_cursor"], Value::Null);
    for bad in ["limit=0", "limit=501", "limit=x", "cursor=!!", "cursor=YQ", "nonsense=1", "limit=1&limit=2"] {
        world.get(&format!("/sessions?{bad}")).by(&owner).send().await.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn an_archived_session_can_be_read_and_not_changed() {
    let room = Room::new(json!({})).await;
    room.write("a", "1").await;
    room.write("a", "2").await;
    room.does(json!({"action": "snapshot", "label": "s"})).await;
    let looks = [
        json!({"action": "list_keys"}),
        json!({"action": "read", "key": "a"}),
        json!({"action": "read_batch", "keys": ["a", "b"]}),
        json!({"action": "read_history", "key": "a"}),
        json!({"action": "list_snapshots"}),
        json!({"action": "read_snapshot", "label": "s"}),
        json!({"action": "diff", "from": 0, "to": "now"}),
    ];
    let mut before = Vec::new();
    for look in &looks {
        before.push(room.does(look.clone()).await);
    }
    let rows = room.audit().await.len();
    let archived = room.archive().await;
    assert_eq!(archived["state"], "archived");
    assert!(archived["archived_at"].is_string());
    assert_eq!(room.session().await, archived);
    let changes = [
        json!({"action": "write", "key": "a", "value": "3"}),
        json!({"action": "write", "key": "b", "value": "3", "if_version": 0}),
        json!({"action": "write", "key": "b", "value": "x".repeat(4001)}),
        json!({"action": "delete", "key": "a"}),
        json!({"action": "delete", "key": "never"}),
        json!({"action": "snapshot", "label": "t"}),
        json!({"action": "snapshot", "label": "s"}),
        json!({"action": "restore_snapshot", "label": "s"}),
        json!({"action": "restore_snapshot", "label": "never"}),
    ];
    for change in changes {
        room.refuses(change, 409, "SESSION_ARCHIVED").await;
    }
    for (look, before) in looks.into_iter().zip(before) {
        assert_eq!(room.does(look).await, before);
    }
    let again = room.world.post(&format!("/sessions/{SESSION}/archive"), &json!({})).by(&room.owner).send().await;
    again.refused(409, "SESSION_ARCHIVED");
    let prompt = room.world.get(&format!("/sessions/{SESSION}/prompt")).by(&room.owner).send().await.ok();
    assert!(prompt["prompt"].as_str().unwrap().contains("archived"));
    let events = room.world.get(&format!("/sessions/{SESSION}/events")).by(&room.owner).header("last-event-id", "0");
    assert_eq!(events.stream().await.take(3).await.len(), 3);
    assert_eq!(room.audit().await.len(), rows + 1, "the archiving, and nothing else");
}

#[tokio::test]
async fn a_deleted_session_is_gone_with_everything_in_it() {
    let room = Room::new(json!({})).await;
    room.write("a", "1").await;
    room.does(json!({"action": "snapshot", "label": "s"})).await;
    let answer = room.world.delete(&format!("/sessions/{SESSION}")).by(&room.owner).send().await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (204, ""));
    for request in [json!({"action": "list_keys"}), json!({"action": "write", "key": "a", "value": "x"})] {
        room.refuses(request, 404, "SESSION_NOT_FOUND").await;
    }
    for path in ["", "/prompt", "/events"] {
        let path = format!("/sessions/{SESSION}{path}");
        room.world.get(&path).by(&room.owner).send().await.refused(404, "SESSION_NOT_FOUND");
    }
    room.world.delete(&format!("/sessions/{SESSION}")).by(&room.owner).send().await.refused(404, "SESSION_NOT_FOUND");
    assert!(room.audit().await.iter().any(|row| row["action"] == "session.delete"), "its audit stays");

    room.world.session(&room.owner, SESSION, json!({})).await;
    let listing = room.does(json!({"action": "list_keys"})).await;
    assert_eq!((&listing["keys"], &listing["total_size_tokens"]), (&json!([]), &json!(0)));
    assert_eq!(room.does(json!({"action": "list_snapshots"})).await["snapshots"], json!([]));
    room.refuses(json!({"action": "read_history", "key": "a"}), 404, "KEY_NOT_FOUND").await;
    assert_eq!(room.write("a", "1").await["rev"], 1);
}

#[tokio::test]
async fn an_archived_session_can_still_be_deleted() {
    let room = Room::new(json!({})).await;
    room.archive().await;
    room.world.delete(&format!("/sessions/{SESSION}")).by(&room.owner).send().await.ok();
    room.refuses(json!({"action": "list_keys"}), 404, "SESSION_NOT_FOUND").await;
}

#[tokio::test]
async fn tokens_of_a_deleted_session_are_dead_even_for_a_new_one_of_the_same_name() {
    let room = Room::new(json!({})).await;
    let review = room.participant("subagent:review").await;
    room.as_(&review, json!({"action": "list_keys"})).await;
    room.world.delete(&format!("/sessions/{SESSION}")).by(&room.owner).send().await.ok();
    let list = json!({"action": "list_keys"});
    room.try_as(&review, list.clone()).await.refused(401, "UNAUTHENTICATED");
    room.world.session(&room.owner, SESSION, json!({})).await;
    room.write("a", "CANARY").await;
    room.try_as(&review, list).await.refused(401, "UNAUTHENTICATED");
    room.world.clock.advance_s(5);
    room.try_as(&review, json!({"action": "read", "key": "a"})).await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let room = Room::new(json!({})).await;
    let review = room.participant("subagent:review").await;
    let path = format!("/sessions/{SESSION}/events");
    let mut by_token = room.world.get(&path).by(&review).stream().await;
    let mut by_owner = room.world.get(&path).by(&room.owner).stream().await;
    room.world.delete(&format!("/sessions/{SESSION}")).by(&room.owner).send().await.ok();
    assert_eq!((by_token.next().await, by_owner.next().await), (None, None));
}

#[tokio::test]
async fn a_session_token_reaches_its_sessions_context_prompt_and_events_and_nothing_else() {
    let room = Room::new(json!({})).await;
    room.world.session(&room.owner, "other", json!({})).await;
    let token = room.participant("orchestrator").await;
    room.as_(&token, json!({"action": "write", "key": "a", "value": "1"})).await;
    room.world.get(&format!("/sessions/{SESSION}/prompt")).by(&token).send().await.ok();
    room.world.get(&format!("/sessions/{SESSION}/events")).by(&token).stream().await;

    let list = json!({"action": "list_keys"});
    room.world.context(&token, "other", &list).send().await.refused(404, "SESSION_NOT_FOUND");
    for path in ["/sessions/other/prompt", "/sessions/other/events"] {
        room.world.get(path).by(&token).send().await.refused(404, "SESSION_NOT_FOUND");
    }
    let beyond = [
        (Method::POST, "/sessions", json!({"id": "mine"})),
        (Method::GET, "/sessions", json!({})),
        (Method::POST, "/sessions/ticket-42/archive", json!({})),
        (Method::DELETE, "/sessions/ticket-42", json!({})),
        (Method::POST, "/my/tokens", json!({})),
        (Method::POST, "/my/tokens", json!({"session": SESSION, "participant": "orchestrator"})),
        (Method::GET, "/my/tokens", json!({})),
        (Method::GET, "/my/events", json!({})),
        (Method::GET, "/admin/audit", json!({})),
        (Method::GET, "/admin/users", json!({})),
        (Method::GET, "/admin/sessions/ticket-42/context", json!({})),
    ];
    for (method, path, body) in beyond {
        let mut ask = room.world.ask(method.clone(), path).by(&token);
        if method == Method::POST {
            ask = ask.json(&body);
        }
        let answer = ask.send().await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (403, "FORBIDDEN"), "{method} {path}");
    }
    assert_eq!(room.session().await["state"], "active");
}

#[tokio::test]
async fn a_workspace_named_wrongly_finds_nothing_and_the_right_one_does() {
    let room = Room::new(json!({})).await;
    let at = |workspace: &str| format!("/sessions/{SESSION}?workspace={workspace}");
    for good in ["personal", "personal-usr_owner"] {
        room.world.get(&at(good)).by(&room.owner).send().await.ok();
    }
    for bad in ["personal-usr_nobody", "x", "%2e%2e", ""] {
        room.world.get(&at(bad)).by(&room.owner).send().await.refused(404, "SESSION_NOT_FOUND");
    }
    let token = room.participant("orchestrator").await;
    let path = format!("/sessions/{SESSION}/shared_context?workspace=personal-usr_nobody");
    let answer = room.world.post(&path, &json!({"action": "list_keys"})).by(&token).send().await;
    answer.refused(404, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn everything_is_still_there_after_the_house_was_closed_and_opened() {
    let Room { world, owner } = Room::new(json!({"history_keep": 3})).await;
    world.write(&owner, SESSION, "a", "1").await;
    world.write(&owner, SESSION, "a", "2").await;
    world.context(&owner, SESSION, &json!({"action": "snapshot", "label": "s"})).send().await.ok();
    let room = Room { world: world.reopened().await, owner };
    assert_eq!(room.read("a").await["value"], "2");
    assert_eq!(room.session().await["rev"], 2);
    assert_eq!(room.does(json!({"action": "list_snapshots"})).await["snapshots"][0]["label"], "s");
    assert_eq!(room.write("a", "3").await["rev"], 3);
}
