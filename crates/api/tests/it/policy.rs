//! Why a tool may be used, or why not, told to those who may ask.

use domain::capabilities::ToolSet;
use domain::ids::{UserId, WorkspaceId};
use domain::roles::{Role, RoleRules};
use domain::rules::{Declaration, DeclaredUser, DeclaredWorkspace, HouseRules, Plugin};
use domain::workspaces::{ToolRules, WorkspaceSettings};
use serde_json::{Value, json};
use testkit::World;

pub(super) fn user(name: &str) -> UserId {
    UserId::parse(name).expect("a name")
}

pub(super) fn people(people: &[(&str, &str)]) -> Vec<(UserId, DeclaredUser)> {
    let declared = |role: &str| DeclaredUser { role: Role::from(role.to_owned()), identities: Vec::new() };
    people.iter().map(|(name, role)| (user(name), declared(role))).collect()
}

fn workspace(name: &str, members: &[&str], allow: &[&str], deny: &[&str]) -> (WorkspaceId, DeclaredWorkspace) {
    let tools = ToolRules { allow: ToolSet::of(allow), deny: ToolSet::of(deny) };
    let settings = WorkspaceSettings { tools: Some(tools), ..Default::default() };
    let members = members.iter().map(|name| user(name)).collect();
    (WorkspaceId::parse(name).expect("a name"), DeclaredWorkspace { members, settings, ..Default::default() })
}

/// The seed's example, with the plugins it needs.
fn house() -> Declaration {
    let plugin = |caps: &[&str]| Plugin { caps: ToolSet::of(caps), ..Default::default() };
    let plugins = [("kubernetes", plugin(&["k8s.*"])), ("calendar", plugin(&["calendar.*", "exec.host"]))];
    Declaration {
        users: people(&[("sean", "admin"), ("wife", "member"), ("kid", "nurse")]).into_iter().collect(),
        workspaces: [
            workspace("homelab", &["sean"], &["exec.sandboxed", "k8s.*", "terraform.*"], &[]),
            workspace("family", &["sean", "wife", "kid"], &["calendar.*", "exec.*"], &["exec.host"]),
        ]
        .into(),
        house: HouseRules {
            plugins: plugins.map(|(name, plugin)| (name.to_owned(), plugin)).into(),
            roles: [("nurse".to_owned(), RoleRules::default())].into(),
            ..Default::default()
        },
    }
}

async fn token(world: &World, name: &str) -> String {
    let issued = world.post("/my/tokens", &json!({"user": name})).locally().send().await.ok();
    issued["token"].as_str().expect("a token").to_owned()
}

fn body(user: &str, tool: &str) -> Value {
    json!({"user": user, "tool": tool})
}

#[tokio::test]
async fn an_admin_is_told_why_about_anybody_anywhere() {
    let world = World::new().await;
    world.declare(house()).await;
    let owner = world.owner().await;
    let cases = [
        ("homelab", "sean", "k8s.get", "ALLOW workspace k8s.*"),
        ("homelab", "usr_sean", "exec.sandboxed", "ALLOW workspace exec.sandboxed"),
        ("homelab", "sean", "terraform.plan", "DENY plugin -"),
        ("homelab", "sean", "calendar.list", "DENY workspace -"),
        ("homelab", "wife", "k8s.get", "DENY workspace members"),
        ("homelab", "wife", "workspace_read", "DENY workspace members"),
        ("family", "wife", "calendar.list", "ALLOW workspace calendar.*"),
        ("family", "wife", "exec.host", "DENY deny exec.host"),
        ("family", "wife", "k8s.get", "DENY workspace -"),
        ("family", "wife", "workspace_read", "ALLOW platform -"),
        ("family", "kid", "calendar.list", "DENY role -"),
        ("personal-usr_wife", "wife", "filesystem.write", "ALLOW workspace filesystem.*"),
        ("personal-usr_wife", "sean", "filesystem.write", "DENY workspace members"),
        ("personal", "owner", "filesystem.list", "ALLOW workspace filesystem.*"),
    ];
    for (place, who, tool, expected) in cases {
        let path = format!("/workspaces/{place}/policy/explain");
        let told = world.post(&path, &body(who, tool)).by(&owner).send().await.ok();
        let word = |field: &str| told[field].as_str().unwrap_or("-").to_owned();
        let got = format!("{} {} {}", word("decision"), word("layer"), word("rule"));
        assert_eq!(got, expected, "{tool} in {place} by {who}: {told}");
        assert_eq!(told.as_object().map(serde_json::Map::len), Some(4), "{told}");
        assert!(word("detail").len() > 20, "{told}");
    }
}

#[tokio::test]
async fn members_ask_about_themselves_and_strangers_learn_nothing() {
    let world = World::new().await;
    world.declare(house()).await;
    let (owner, wife) = (world.owner().await, token(&world, "wife").await);
    let ask = |place: &str, who: &str, tool: &str| {
        world.post(&format!("/workspaces/{place}/policy/explain"), &body(who, tool))
    };
    assert_eq!(ask("family", "wife", "calendar.list").by(&wife).send().await.ok()["decision"], "ALLOW");
    assert_eq!(ask("personal", "wife", "exec.sandboxed").by(&wife).send().await.ok()["decision"], "ALLOW");
    for about in ["sean", "owner", "nobody"] {
        ask("family", about, "calendar.list").by(&wife).send().await.refused(403, "FORBIDDEN");
    }
    for place in ["homelab", "personal-usr_sean", "nowhere", "Bad Name", "@house"] {
        for about in ["wife", "sean"] {
            let path = place.replace(' ', "%20");
            ask(&path, about, "k8s.get").by(&wife).send().await.refused(404, "WORKSPACE_NOT_FOUND");
        }
    }
    for place in ["nowhere", "@house"] {
        ask(place, "sean", "k8s.get").by(&owner).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    }
    ask("family", "nobody", "k8s.get").by(&owner).send().await.refused(404, "USER_NOT_FOUND");
    for tool in ["", "k8s.*", "*", "K8s.get", "k8s..get", "k8s get", "k8s-get"] {
        ask("family", "wife", tool).by(&owner).send().await.refused(400, "INVALID_REQUEST");
    }
    ask("family", "Not A Name", "k8s.get").by(&owner).send().await.refused(400, "INVALID_REQUEST");
    let extra = json!({"user": "wife", "tool": "k8s.get", "role": "admin"});
    world.post("/workspaces/family/policy/explain", &extra).by(&owner).send().await.refused(400, "INVALID_REQUEST");
}

#[tokio::test]
async fn what_changes_in_the_rules_changes_the_answer_at_once() {
    let world = World::new().await;
    let mut declaration = house();
    world.declare(declaration.clone()).await;
    let owner = world.owner().await;
    let ask = async |who: &str, tool: &str| {
        let told = world.post("/workspaces/family/policy/explain", &body(who, tool)).by(&owner).send().await.ok();
        format!("{} {}", told["decision"].as_str().unwrap_or(""), told["layer"].as_str().unwrap_or(""))
    };
    assert_eq!(ask("wife", "calendar.list").await, "ALLOW workspace");
    declaration.house.roles.clear();
    declaration.users.extend(people(&[("kid", "nurse")]));
    world.declare(declaration.clone()).await;
    assert_eq!(ask("kid", "calendar.list").await, "DENY role", "whose role is gone may use nothing");
    assert_eq!(ask("kid", "workspace_read").await, "ALLOW platform", "but what the platform gives");
    let family = declaration.workspaces.get_mut(&WorkspaceId::parse("family").expect("a name")).expect("family");
    family.members.retain(|member| *member != user("wife"));
    world.declare(declaration.clone()).await;
    assert_eq!(ask("wife", "calendar.list").await, "DENY workspace");
    declaration.house.plugins.clear();
    world.declare(declaration).await;
    assert_eq!(ask("sean", "calendar.list").await, "DENY plugin");
}
