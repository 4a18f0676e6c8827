//! What the configuration file declares, applied to a house: opened, changed, shut and opened again.

use super::workshop::{audit, texts};
use axum::http::Method;
use domain::ids::{UserId, WorkspaceId};
use domain::money::Micros;
use domain::roles::{Role, RoleRules};
use domain::rules::{Declaration, DeclaredUser, DeclaredWorkspace};
use domain::workspaces::{Binding, Budget, ChannelPlace, Identity, WorkspaceSettings};
use serde_json::{Value, json};
use testkit::World;

fn user(name: &str) -> UserId {
    UserId::parse(name).expect("a name")
}

fn person(role: &str, telegram: &str) -> DeclaredUser {
    let identity = Identity { channel: "telegram".to_owned(), id: telegram.to_owned() };
    DeclaredUser { role: Role::parse(role).expect("a role"), identities: vec![identity] }
}

fn chat(id: &str) -> Binding {
    let place =
        ChannelPlace { channel: "telegram".to_owned(), chat_id: Some(id.to_owned()), guild_id: None, channel_id: None };
    Binding { place, reply: None }
}

/// Sean and wife in `family`, sean alone in `homelab`.
fn household() -> Declaration {
    let mut declaration = Declaration::default();
    declaration.users.insert(user("sean"), person("admin", "1111"));
    declaration.users.insert(user("wife"), person("member", "3333"));
    let settings = WorkspaceSettings { description: Some("Shared".into()), ..Default::default() };
    let family =
        DeclaredWorkspace { members: vec![user("sean"), user("wife")], bindings: vec![chat("-100789012")], settings };
    let homelab = DeclaredWorkspace { members: vec![user("sean")], ..Default::default() };
    declaration.workspaces.insert(WorkspaceId::parse("family").expect("a name"), family);
    declaration.workspaces.insert(WorkspaceId::parse("homelab").expect("a name"), homelab);
    declaration
}

fn family(declaration: &mut Declaration) -> &mut DeclaredWorkspace {
    declaration.workspaces.get_mut(&WorkspaceId::parse("family").expect("a name")).expect("family")
}

async fn token(world: &World, name: &str) -> String {
    let issued = world.post("/my/tokens", &json!({"user": name})).locally().send().await.ok();
    issued["token"].as_str().expect("a token").to_owned()
}

async fn scene() -> (World, String, String) {
    let world = World::new().await;
    world.declare(household()).await;
    let (sean, wife) = (token(&world, "sean").await, token(&world, "wife").await);
    (world, sean, wife)
}

async fn refused(world: &World, declaration: Declaration) -> String {
    let error = service::rules::apply(&world.house, declaration, "longhouse.yaml").await.expect_err("refused");
    error.into_refusal().message
}

/// Every audit row but those of the tokens that tests make.
async fn changes(world: &World) -> Vec<String> {
    let actions = texts(&audit(world, "").await, "action");
    actions.into_iter().filter(|action| !action.starts_with("token.")).collect()
}

#[tokio::test]
async fn people_and_workspaces_of_the_file_are_there() {
    let (world, sean, wife) = scene().await;
    assert_eq!(world.get("/me").by(&sean).send().await.ok()["role"], "admin");
    let seen = world.get("/workspaces/family").by(&wife).send().await.ok();
    assert_eq!(texts(seen["members"].as_array().unwrap(), "user"), ["usr_sean", "usr_wife"]);
    assert_eq!(seen["defined_in"], json!(["file"]));
    assert_eq!(seen["bindings"][0]["place"], "telegram:-100789012");
    world.get("/workspaces/homelab").by(&wife).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    let rows = changes(&world).await;
    world.declare(household()).await;
    assert_eq!(changes(&world).await, rows, "saying the same again changes nothing");
    let config = world.get("/admin/config").by(&sean).send().await.ok();
    assert_eq!(config["in_force"], "longhouse.yaml");
}

#[tokio::test]
async fn what_the_file_says_is_the_files_and_the_rest_is_the_admins() {
    let (world, sean, wife) = scene().await;
    let refused = |answer: testkit::Answer, part: &str| {
        assert_eq!(answer.refused(409, "DEFINED_IN_FILE")["part"], part);
    };
    let patch = |body: Value| world.patch("/admin/workspaces/family", &body).by(&sean).send();
    refused(patch(json!({"description": "x"})).await, "description");
    refused(world.delete("/admin/workspaces/family").by(&sean).send().await, "workspaces");
    refused(world.delete("/admin/workspaces/family/members/wife").by(&sean).send().await, "members");
    refused(world.delete("/admin/workspaces/family/bindings/telegram:-100789012").by(&sean).send().await, "bindings");
    refused(world.patch("/admin/users/wife", &json!({"role": "admin"})).by(&sean).send().await, "users");
    refused(world.delete("/admin/users/wife").by(&sean).send().await, "users");
    patch(json!({"budget": {"daily_usd": 2}})).await.ok();
    world.member("kid").await;
    world.ask(Method::PUT, "/admin/workspaces/family/members/kid").by(&sean).send().await.ok();
    let world = world.reopened().await;
    world.declare(household()).await;
    let seen = world.get("/workspaces/family").by(&wife).send().await.ok();
    assert_eq!(seen["budget"]["daily_usd"], json!(2.0), "run-time changes survive restart and reload");
    assert_eq!(seen["members"][0], json!({"user": "usr_kid", "role": "member", "defined_in": ["admin"]}));
    // The file may take a part over, and leave it again.
    let mut declaration = household();
    family(&mut declaration).settings.budget = Some(Budget { daily: Some(Micros(9_000_000)), ..Default::default() });
    world.declare(declaration).await;
    assert_eq!(world.get("/workspaces/family").by(&wife).send().await.ok()["budget"]["daily_usd"], json!(9.0));
    world.declare(household()).await;
    assert_eq!(world.get("/workspaces/family").by(&wife).send().await.ok()["budget"]["daily_usd"], json!(2.0));
}

#[tokio::test]
async fn a_member_taken_out_of_the_file_is_out_and_streams_end() {
    let (world, sean, wife) = scene().await;
    world.post("/sessions", &json!({"id": "menu", "workspace": "family"})).by(&sean).send().await.ok();
    let mut stream = world.get("/sessions/menu/events").by(&wife).stream().await;
    let mut declaration = household();
    family(&mut declaration).members.retain(|member| member.name() != "wife");
    world.declare(declaration).await;
    assert!(stream.next().await.is_none(), "the stream ends");
    world.get("/sessions/menu").by(&wife).send().await.refused(404, "SESSION_NOT_FOUND");
    world.get("/me").by(&wife).send().await.ok();
    world.declare(household()).await;
    world.get("/sessions/menu").by(&wife).send().await.ok();
}

#[tokio::test]
async fn a_workspace_that_leaves_the_file_is_shut_with_everything_in_it_and_opens_again_as_it_was() {
    let (world, sean, wife) = scene().await;
    world.post("/sessions", &json!({"id": "menu", "workspace": "family"})).by(&wife).send().await.ok();
    world.write(&wife, "menu", "monday", "soup").await;
    world.member("kid").await;
    let kid = token(&world, "kid").await;
    world.ask(Method::PUT, "/admin/workspaces/family/members/kid").by(&sean).send().await.ok();
    let mut without = household();
    without.workspaces.remove(&WorkspaceId::parse("family").expect("a name"));
    world.declare(without).await;
    for token in [&sean, &wife, &kid] {
        world.get("/sessions/menu").by(token).send().await.refused(404, "SESSION_NOT_FOUND");
    }
    let shut = world.get("/admin/workspaces/family").by(&sean).send().await.ok();
    assert_eq!((&shut["open"], &shut["members"], &shut["bindings"]), (&json!(false), &json!([]), &json!([])));
    let body = json!({"name": "family", "members": ["kid"]});
    world.post("/admin/workspaces", &body).by(&sean).send().await.refused(409, "WORKSPACE_EXISTS");
    let joined = world.ask(Method::PUT, "/admin/workspaces/family/members/kid").by(&sean).send().await;
    joined.refused(404, "WORKSPACE_NOT_FOUND");
    world.declare(household()).await;
    for token in [&wife, &kid] {
        let read = json!({"action": "read", "key": "monday"});
        assert_eq!(world.context(token, "menu", &read).send().await.ok()["value"], "soup");
    }
}

#[tokio::test]
async fn a_person_who_leaves_the_file_is_out_with_everything_kept_and_comes_back_as_they_were() {
    let (world, sean, wife) = scene().await;
    world.session(&wife, "diary", json!({})).await;
    let mut without = household();
    without.users.remove(&user("wife"));
    family(&mut without).members.retain(|member| member.name() != "wife");
    world.declare(without.clone()).await;
    world.get("/me").by(&wife).send().await.refused(401, "UNAUTHENTICATED");
    let people = world.get("/admin/users").by(&sean).send().await.ok();
    assert_eq!(texts(people["items"].as_array().unwrap(), "name"), ["owner", "sean"]);
    world.post("/my/tokens", &json!({"user": "wife"})).locally().send().await.refused(404, "USER_NOT_FOUND");
    world.declare(household()).await;
    world.get("/sessions/diary").by(&wife).send().await.ok();
    // An admin may take over somebody the file has let go, knowing that it is them; what let them in before has ended.
    world.declare(without).await;
    let body = json!({"name": "wife", "role": "guest"});
    world.post("/admin/users", &body).by(&sean).send().await.refused(409, "USER_EXISTS");
    let body = json!({"name": "wife", "role": "guest", "restore": true});
    assert_eq!(world.post("/admin/users", &body).by(&sean).send().await.ok()["role"], "guest");
    world.get("/me").by(&wife).send().await.refused(401, "UNAUTHENTICATED");
    let wife = token(&world, "wife").await;
    world.get("/sessions/diary").by(&wife).send().await.ok();
    assert_eq!(audit(&world, "user.restore").await.len(), 1);
    world.delete("/admin/users/wife").by(&sean).send().await;
    let problem = refused(&world, household()).await;
    assert!(problem.contains("`wife` was removed"), "{problem}");
}

#[tokio::test]
async fn a_role_is_a_name_that_the_file_may_define() {
    let (world, sean, _) = scene().await;
    world.member("kid").await;
    let set = |role: &'static str| world.patch("/admin/users/kid", &json!({"role": role})).by(&sean).send();
    set("child").await.refused(400, "INVALID_REQUEST");
    let mut declaration = household();
    declaration.house.roles.insert("child".to_owned(), RoleRules::default());
    world.declare(declaration).await;
    assert_eq!(set("child").await.ok()["role"], "child");
    let kid = token(&world, "kid").await;
    world.get("/admin/users").by(&kid).send().await.refused(403, "FORBIDDEN");
    world.declare(household()).await;
    assert_eq!(world.get("/me").by(&kid).send().await.ok()["role"], "child", "the name stays; it gives nothing now");
}

#[tokio::test]
async fn what_stands_in_the_way_is_told_together_and_nothing_is_changed() {
    let (world, sean, _) = scene().await;
    world.post("/admin/workspaces", &json!({"name": "attic"})).by(&sean).send().await.ok();
    let place = json!({"channel": "telegram", "chat_id": "-5"});
    world.post("/admin/workspaces/attic/bindings", &place).by(&sean).send().await.ok();
    let before = changes(&world).await;
    let mut declaration = household();
    family(&mut declaration).bindings.push(chat("-5"));
    family(&mut declaration).members.push(user("nobody"));
    family(&mut declaration).settings.description = Some("Changed".into());
    let problem = refused(&world, declaration).await;
    assert!(problem.contains("telegram:-5") && problem.contains("`nobody`"), "{problem}");
    assert_eq!(changes(&world).await, before);
    assert_eq!(world.get("/workspaces/family").by(&sean).send().await.ok()["description"], "Shared");
    // The owner and sean are admins: declaring both down would leave nobody.
    let mut declaration = household();
    declaration.users.insert(user("owner"), person("member", "9"));
    declaration.users.insert(user("sean"), person("member", "1111"));
    assert!(refused(&world, declaration).await.contains("admin"));
    assert_eq!(world.get("/me").by(&sean).send().await.ok()["role"], "admin");
}

#[tokio::test]
async fn the_file_takes_over_members_that_an_admin_had_added() {
    let (world, sean, _) = scene().await;
    let kid = world.member("kid").await;
    let put = |user: &str| world.ask(Method::PUT, &format!("/admin/workspaces/family/members/{user}")).by(&sean).send();
    put("wife").await.refused(409, "DEFINED_IN_FILE");
    put("kid").await.ok();
    let mut with = household();
    family(&mut with).members.push(user("kid"));
    world.declare(with).await;
    world.get("/workspaces/family").by(&kid).send().await.ok();
    world.declare(household()).await;
    world.get("/workspaces/family").by(&kid).send().await.refused(404, "WORKSPACE_NOT_FOUND");
}

#[tokio::test]
async fn a_workspace_that_is_shut_holds_no_place_that_others_might_want() {
    let (world, sean, _) = scene().await;
    let place = json!({"channel": "telegram", "chat_id": "-5"});
    world.post("/admin/workspaces/homelab/bindings", &place).by(&sean).send().await.ok();
    let mut without = household();
    without.workspaces.remove(&WorkspaceId::parse("homelab").expect("a name"));
    family(&mut without).bindings.push(chat("-5"));
    world.declare(without).await;
    let seen = world.get("/workspaces/family").by(&sean).send().await.ok();
    assert_eq!(texts(seen["bindings"].as_array().unwrap(), "place"), ["telegram:-100789012", "telegram:-5"]);
}

#[tokio::test]
async fn a_template_that_says_something_else_keeps_the_limit() {
    let (world, _, wife) = scene().await;
    let mut declaration = household();
    let budget = Budget { timezone: Some("Europe/Berlin".into()), ..Default::default() };
    declaration.house.personal.budget = Some(budget);
    world.declare(declaration).await;
    let own = world.get("/workspaces/personal").by(&wife).send().await.ok();
    assert_eq!(own["budget"], json!({"daily_usd": 5.0, "timezone": "Europe/Berlin"}));
}

#[tokio::test]
async fn the_audit_says_what_changed_and_that_the_file_said_so() {
    let (world, sean, _) = scene().await;
    let mut declaration = household();
    family(&mut declaration).settings.description = Some("Changed".into());
    world.declare(declaration).await;
    let row = audit(&world, "workspace.update").await.pop().expect("a row");
    assert_eq!(row["user"], "@house");
    let told = json!({"description": {"from": "Shared", "to": "Changed"}});
    assert_eq!(row["detail"], json!({"source": "file", "changed": told}));
    let patch = |body: Value| world.patch("/admin/workspaces/family", &body).by(&sean).send();
    patch(json!({"model": "gpt-4"})).await.ok();
    patch(json!({"model": "gpt-4"})).await.ok();
    let rows = audit(&world, "workspace.update").await;
    assert_eq!(rows.len(), 2, "no row for no change");
    assert_eq!(rows[1]["detail"]["changed"], json!({"model": {"from": null, "to": "gpt-4"}}));
    let applied = world.get("/admin/config").by(&sean).send().await.ok()["applied_at"].clone();
    world.clock.advance_s(60);
    world.declare(household()).await;
    assert_ne!(world.get("/admin/config").by(&sean).send().await.ok()["applied_at"], applied);
}

#[tokio::test]
async fn a_house_whose_file_is_gone_forgets_what_it_said() {
    let (world, sean, wife) = scene().await;
    service::rules::forget(&world.house).await.expect("forgotten");
    for token in [&sean, &wife] {
        world.get("/me").by(token).send().await.refused(401, "UNAUTHENTICATED");
    }
    let owner = world.owner().await;
    assert_eq!(world.get("/admin/config").by(&owner).send().await.ok()["in_force"], Value::Null);
}

#[tokio::test]
async fn a_refused_file_is_told_to_those_who_run_the_house() {
    let (world, sean, _) = scene().await;
    service::rules::note_accepted(&world.house, "longhouse.yaml", vec!["a warning".to_owned()]);
    service::rules::note_refused(&world.house, vec!["longhouse.yaml:3:5: no".to_owned()]);
    let health = world.get("/health").send().await.ok();
    assert_eq!(health["status"], "degraded");
    assert!(!health.to_string().contains("3:5"), "strangers are not told what is in the file");
    let config = world.get("/admin/config").by(&sean).send().await.ok();
    assert_eq!(config["problems"], json!(["longhouse.yaml:3:5: no"]));
    let doctor = world.get("/admin/doctor").by(&sean).send().await.ok().to_string();
    assert!(doctor.contains("longhouse.yaml:3:5"));
    service::rules::note_accepted(&world.house, "longhouse.yaml", Vec::new());
    assert_eq!(world.get("/health").send().await.ok()["status"], "healthy");
}
