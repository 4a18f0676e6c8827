//! Skills: seen by the people of a workspace, loaded by its agents, and by nobody else's.

use super::mcp::clients::{ALL, Client, NEW};
use super::policy::{people, user};
use domain::ids::WorkspaceId;
use domain::rules::{Declaration, DeclaredWorkspace, HouseRules};
use domain::skills::Skill;
use domain::workspaces::WorkspaceSettings;
use serde_json::{Value, json};
use testkit::World;

fn skill(name: &str, mark: &str) -> (String, Skill) {
    let skill = Skill {
        name: name.to_owned(),
        description: format!("{mark} description"),
        body: format!("{mark} body"),
        files: [("references/limits.md".to_owned(), format!("{mark} file"))].into(),
        wished_tools: vec!["exec.host".to_owned()],
        warnings: vec![format!("{mark} warning")],
    };
    (name.to_owned(), skill)
}

/// Two workspaces with a skill each, one without; `sean` is in all of them, `wife` in `family` only.
fn house() -> Declaration {
    let workspace = |name: &str, members: &[&str], skills: &[&str]| {
        let skills = Some(skills.iter().map(|name| (*name).to_owned()).collect());
        let settings = WorkspaceSettings { skills, ..Default::default() };
        let members = members.iter().map(|name| user(name)).collect();
        (WorkspaceId::parse(name).expect("a name"), DeclaredWorkspace { members, settings, ..Default::default() })
    };
    Declaration {
        users: people(&[("sean", "admin"), ("wife", "member")]).into_iter().collect(),
        workspaces: [
            workspace("homelab", &["sean"], &["infra-ops", "gone-from-the-folder"]),
            workspace("family", &["sean", "wife"], &["meals"]),
            workspace("bare", &["sean"], &[]),
        ]
        .into(),
        house: HouseRules {
            skills: [skill("infra-ops", "LABMARK"), skill("meals", "FAMILYMARK"), skill("unused", "NOBODYMARK")].into(),
            ..Default::default()
        },
    }
}

struct Scene {
    world: World,
    sean: String,
    wife: String,
}

async fn scene() -> Scene {
    let world = World::new().await;
    world.declare(house()).await;
    let token = async |name: &str| {
        let issued = world.post("/my/tokens", &json!({"user": name})).locally().send().await.ok();
        issued["token"].as_str().expect("a token").to_owned()
    };
    let (sean, wife) = (token("sean").await, token("wife").await);
    for (workspace, name) in [("homelab", "racks"), ("family", "kitchen"), ("bare", "empty"), ("personal", "own")] {
        let project = json!({"name": name, "workspace": workspace});
        world.post("/my/projects", &project).by(&sean).send().await.ok();
    }
    Scene { world, sean, wife }
}

impl Scene {
    async fn agent_token(&self, person: &str, project: &str, agent: &str) -> String {
        let path = format!("/my/projects/{project}/agents/{agent}");
        let found = self.world.get(&path).by(person).send().await.ok();
        self.world.agent_token(person, json!({"agent": found["id"]})).await
    }

    async fn read(&self, token: &str, project: &str, request: Value) -> Value {
        self.world.tool(token, &format!("{project}/agent_coder"), "skill_read", &request).send().await.json()
    }
}

#[tokio::test]
async fn an_agent_loads_the_skills_of_its_workspace_over_every_door() {
    let scene = scene().await;
    let body = json!({"name": "infra-ops", "description": "LABMARK description", "body": "LABMARK body",
                      "files": ["references/limits.md"]});
    assert_eq!(scene.read(&scene.sean, "racks", json!({"skill": "infra-ops"})).await, body);
    let wanted = json!({"skill": "infra-ops", "file": "references/limits.md"});
    let file = json!({"name": "infra-ops", "file": "references/limits.md", "text": "LABMARK file"});
    assert_eq!(scene.read(&scene.sean, "racks", wanted.clone()).await, file);
    let token = scene.agent_token(&scene.sean, "racks", "agent_coder").await;
    for version in ALL {
        let mut client = Client::new(&scene.world, &token, version).await;
        assert_eq!(client.tool("skill_read", json!({"skill": "infra-ops"})).await, body, "{version}");
        assert_eq!(client.tool("skill_read", wanted.clone()).await, file, "{version}");
        let listed = client.result("tools/list", json!({})).await["tools"].clone();
        let listed: Vec<&Value> =
            listed.as_array().expect("tools").iter().filter(|t| t["name"] == "skill_read").collect();
        let about = listed[0]["description"].as_str().expect("a description");
        assert!(about.contains("- infra-ops: LABMARK description\n"), "{about}");
        assert!(!about.contains("gone-from") && !about.contains("body"), "{about}");
        assert_eq!(listed[0]["annotations"]["readOnlyHint"], true);
        assert_eq!(client.tool("skill_read", json!({"skill": "x"})).await["error"]["code"], "SKILL_NOT_FOUND");
    }
    for wrong in ["../limits.md", "SKILL.md", "", "references"] {
        let refused = scene.read(&scene.sean, "racks", json!({"skill": "infra-ops", "file": wrong})).await;
        assert_eq!(refused["error"]["code"], "SKILL_NOT_FOUND", "{wrong}");
    }
    let refused = scene.read(&scene.sean, "racks", json!({"skill": "infra-ops", "workspace": "family"})).await;
    assert_eq!(refused["error"]["details"]["field"], "workspace", "where is never a parameter");
}

#[tokio::test]
async fn the_tool_is_shown_where_there_are_skills_and_to_agents_that_may_use_it() {
    let scene = scene().await;
    let shown = async |token: &str| {
        let listed = Client::new(&scene.world, token, NEW).await.result("tools/list", json!({})).await["tools"].clone();
        listed.as_array().expect("tools").iter().any(|tool| tool["name"] == "skill_read")
    };
    assert!(shown(&scene.agent_token(&scene.sean, "kitchen", "agent_coder").await).await);
    assert!(shown(&scene.agent_token(&scene.wife, "kitchen", "agent_coder").await).await);
    for project in ["empty", "own"] {
        assert!(!shown(&scene.agent_token(&scene.sean, project, "agent_coder").await).await, "{project}");
    }
    assert!(!shown(&scene.sean).await, "a person is not an agent");
    let narrow = json!({"name": "narrow", "tools": ["workspace_*"]});
    scene.world.agent(&scene.sean, "kitchen", narrow).await;
    let token = scene.agent_token(&scene.sean, "kitchen", "narrow").await;
    assert!(!shown(&token).await);
    let mut client = Client::new(&scene.world, &token, NEW).await;
    assert_eq!(client.tool("skill_read", json!({"skill": "meals"})).await["error"]["code"], "FORBIDDEN");
    let over_http = scene.world.tool(&scene.sean, "kitchen/narrow", "skill_read", &json!({"skill": "meals"}));
    over_http.send().await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn people_see_what_their_workspace_has_and_a_wish_stays_a_wish() {
    let scene = scene().await;
    let listed = scene.world.get("/workspaces/family/skills").by(&scene.wife).send().await.ok();
    let expected = json!({"items": [{
        "name": "meals", "description": "FAMILYMARK description", "files": ["references/limits.md"],
        "wished_tools": ["exec.host"], "warnings": ["FAMILYMARK warning"]
    }]});
    assert_eq!(listed, expected);
    let owner = scene.world.owner().await;
    assert_eq!(scene.world.get("/workspaces/family/skills").by(&owner).send().await.ok(), expected, "an admin, too");
    assert_eq!(scene.world.get("/workspaces/personal/skills").by(&owner).send().await.ok(), json!({"items": []}));
    let body = json!({"user": "wife", "tool": "exec.host"});
    let told = scene.world.post("/workspaces/family/policy/explain", &body).by(&scene.wife).send().await.ok();
    assert_eq!(told["decision"], "DENY", "{told}");
    scene.world.get("/workspaces/nowhere/skills").by(&owner).send().await.refused(404, "WORKSPACE_NOT_FOUND");
}

#[tokio::test]
async fn no_door_shows_a_workspace_what_another_one_knows() {
    let scene = scene().await;
    let world = &scene.world;
    let mut heard = Vec::new();
    let names = ["infra-ops", "unused", "gone-from-the-folder", "homelab/infra-ops", "../infra-ops", "", "*"];
    // Those who are in both are no way across, either.
    for (person, project) in
        [(&scene.wife, "kitchen"), (&scene.sean, "kitchen"), (&scene.sean, "own"), (&scene.sean, "empty")]
    {
        let token = scene.agent_token(person, project, "agent_coder").await;
        let mut client = Client::new(world, &token, NEW).await;
        for name in names {
            for request in [json!({"skill": name}), json!({"skill": name, "file": "references/limits.md"})] {
                let over_http = scene.read(person, project, request.clone()).await;
                assert_eq!(over_http["error"]["code"], "SKILL_NOT_FOUND", "{request} in {project}: {over_http}");
                let over_mcp = client.tool("skill_read", request).await;
                assert_eq!(over_mcp, over_http);
                heard.push(over_mcp.to_string());
            }
        }
        for (method, params) in [("tools/list", json!({})), ("resources/list", json!({})), ("prompts/list", json!({}))]
        {
            heard.push(client.result(method, params).await.to_string());
        }
        heard.push(world.get("/tools/schemas").by(person).send().await.text);
    }
    for place in ["homelab", "bare", "personal-usr_sean"] {
        let answer = world.get(&format!("/workspaces/{place}/skills")).by(&scene.wife).send().await;
        answer.refused(404, "WORKSPACE_NOT_FOUND");
    }
    heard.push(world.get("/workspaces/family/skills").by(&scene.wife).send().await.text);
    world
        .tool(&scene.wife, "racks/agent_coder", "skill_read", &json!({"skill": "infra-ops"}))
        .send()
        .await
        .refused(404, "PROJECT_NOT_FOUND");
    for text in heard {
        assert!(!text.contains("LABMARK") && !text.contains("NOBODYMARK"), "{text}");
    }
}
