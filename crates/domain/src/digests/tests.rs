//! The digest of a call, tried: every field counts, and server and node of different builds agree.

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// Everything that is shown, in parts that can be changed one by one.
#[derive(Debug, Clone, PartialEq)]
struct Scene {
    tool: NodeTool,
    schema_version: u32,
    arguments: Value,
    program: Option<String>,
    starts: BTreeMap<String, String>,
    cwd: Option<String>,
    environment: Vec<String>,
    base_sha256: Option<String>,
    network: bool,
    project: String,
    session: Option<String>,
    agent: String,
    user: String,
    node: Option<String>,
    policy_epoch: u64,
    expires_at: i64,
}

impl Scene {
    fn of_a_command() -> Self {
        let some = |text: &str| Some(text.to_owned());
        Self {
            tool: NodeTool::ExecuteCommand,
            schema_version: 1,
            arguments: json!({"program": "ls", "args": ["-l", "ü"], "timeout_s": 30}),
            program: some("/usr/bin/ls"),
            starts: [("box".to_owned(), "/usr/bin/docker".to_owned())].into(),
            cwd: some("src"),
            environment: vec!["PATH".to_owned(), "HOME".to_owned()],
            base_sha256: None,
            network: false,
            project: "prj_1".to_owned(),
            session: some("ses_1"),
            agent: "agt_1".to_owned(),
            user: "usr_ada".to_owned(),
            node: some("nod_1"),
            policy_epoch: 7,
            expires_at: 1_771_597_800_007,
        }
    }

    fn digest(&self) -> String {
        let session = self.session.clone().map(SessionId::from_trusted);
        let parties = Parties {
            call: "call_1",
            project: &ProjectId::from_trusted(self.project.clone()),
            session: session.as_ref(),
            agent: &AgentId::from_trusted(self.agent.clone()),
            user: &UserId::from_trusted(self.user.clone()),
            node: self.node.as_deref(),
        };
        let plan = Plan {
            tool: self.tool,
            schema_version: self.schema_version,
            arguments: &self.arguments,
            program: self.program.as_deref(),
            starts: &self.starts,
            cwd: self.cwd.as_deref(),
            environment: &self.environment,
            base_sha256: self.base_sha256.as_deref(),
            network: self.network,
        };
        let expires_at = Timestamp::from_ms(self.expires_at);
        digest(&Shown { plan, parties, policy_epoch: self.policy_epoch, expires_at })
    }

    /// This scene with one part taken from another.
    fn with_part_of(&self, other: &Self, part: usize) -> Self {
        let mut scene = self.clone();
        let other = other.clone();
        match part {
            0 => scene.tool = other.tool,
            1 => scene.schema_version = other.schema_version,
            2 => scene.arguments = other.arguments,
            3 => scene.program = other.program,
            4 => scene.cwd = other.cwd,
            5 => scene.environment = other.environment,
            6 => scene.base_sha256 = other.base_sha256,
            7 => scene.project = other.project,
            8 => scene.session = other.session,
            9 => scene.agent = other.agent,
            10 => scene.user = other.user,
            11 => scene.node = other.node,
            12 => scene.policy_epoch = other.policy_epoch,
            13 => scene.network = other.network,
            14 => scene.starts = other.starts,
            _ => scene.expires_at = other.expires_at,
        }
        scene
    }
}

fn pair(word: &str, file: &str) -> BTreeMap<String, String> {
    [(word.to_owned(), file.to_owned())].into()
}

const PARTS: usize = 16;

#[test]
fn builds_of_any_age_agree_on_this_one() {
    let golden = "c024fa829bf7961d25c9d198b9fecc1979fed9806dc677cca84ab8e14f616e58";
    assert_eq!(Scene::of_a_command().digest(), golden);
}

#[test]
fn the_order_of_names_does_not_count_and_everything_else_does() {
    let scene = Scene::of_a_command();
    let mut turned = scene.clone();
    turned.environment.reverse();
    turned.arguments = serde_json::from_str(r#"{"timeout_s": 30, "args": ["-l", "ü"], "program": "ls"}"#).unwrap();
    assert_eq!(turned.digest(), scene.digest());
    for other in [
        json!({"program": "ls", "args": ["ü", "-l"], "timeout_s": 30}),
        json!({"program": "ls", "args": ["-l", "ü"], "timeout_s": 30, "cwd": null}),
        json!({"program": "ls", "args": ["-l", "ü"], "timeout_s": "30"}),
        json!({"program": "ls", "args": ["-l", "ü"], "timeout_s": 30.0}),
        json!({"program": "ls", "args": "-lü", "timeout_s": 30}),
        json!({"program": "ls", "args": [["-l"], "ü"], "timeout_s": 30}),
        json!({}),
        json!([]),
        json!(""),
        json!(null),
        json!(false),
        json!(0),
    ] {
        assert_ne!(Scene { arguments: other.clone(), ..scene.clone() }.digest(), scene.digest(), "{other}");
    }
}

#[test]
fn what_is_absent_is_not_what_is_empty() {
    let scene = Scene::of_a_command;
    let empty = || Some(String::new());
    for (absent, present) in [
        (Scene { program: None, ..scene() }, Scene { program: empty(), ..scene() }),
        (Scene { cwd: None, ..scene() }, Scene { cwd: empty(), ..scene() }),
        (Scene { base_sha256: None, ..scene() }, Scene { base_sha256: empty(), ..scene() }),
        (Scene { session: None, ..scene() }, Scene { session: empty(), ..scene() }),
        (Scene { node: None, ..scene() }, Scene { node: empty(), ..scene() }),
        (Scene { starts: BTreeMap::new(), ..scene() }, Scene { starts: pair("", ""), ..scene() }),
        (Scene { environment: vec![], ..scene() }, Scene { environment: vec![String::new()], ..scene() }),
    ] {
        assert_ne!(absent.digest(), present.digest());
    }
}

fn arguments() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn scene() -> impl Strategy<Value = Scene> {
    let text = || "[a-c]{0,3}";
    let optional = || prop::option::of("[a-c]{0,3}");
    let plan = (
        prop::sample::select(NodeTool::ALL.to_vec()),
        0..3u32,
        arguments(),
        optional(),
        optional(),
        prop::collection::vec("[a-c]{0,2}", 0..3),
        optional(),
        any::<bool>(),
        prop::collection::btree_map("[a-c]{0,2}", "[a-c]{0,2}", 0..3),
    );
    let parties = (text(), optional(), text(), text(), optional());
    (plan, parties, 0..3u64, 0..3i64).prop_map(|(plan, parties, policy_epoch, expires_at)| {
        let (tool, schema_version, arguments, program, cwd, mut environment, base_sha256, network, starts) = plan;
        let (project, session, agent, user, node) = parties;
        environment.sort();
        Scene {
            tool,
            schema_version,
            arguments,
            program,
            starts,
            cwd,
            environment,
            base_sha256,
            network,
            project,
            session,
            agent,
            user,
            node,
            policy_epoch,
            expires_at,
        }
    })
}

proptest! {
    #[test]
    fn changing_any_one_part_changes_the_digest(scene in scene(), other in scene()) {
        for part in 0..PARTS {
            let changed = scene.with_part_of(&other, part);
            prop_assert_eq!(changed == scene, changed.digest() == scene.digest(), "part {}", part);
        }
    }

    #[test]
    fn two_scenes_have_one_digest_only_if_they_are_one(scene in scene(), other in scene()) {
        prop_assert_eq!(scene == other, scene.digest() == other.digest());
    }

    #[test]
    fn bytes_cannot_be_moved_between_neighbours(text in "[a-z0-9]{2,24}", first in any::<prop::sample::Index>(), second in any::<prop::sample::Index>()) {
        let at = |index: prop::sample::Index| index.index(text.len() + 1);
        let split = |at: usize| (text[..at].to_owned(), text[at..].to_owned());
        let ((left, right), (other_left, other_right)) = (split(at(first)), split(at(second)));
        let base = Scene::of_a_command();
        let pairs: [fn(Scene, String, String) -> Scene; 9] = [
            |scene, left, right| Scene { program: Some(left), cwd: Some(right), ..scene },
            |scene, left, right| Scene { starts: pair(&left, &right), ..scene },
            |scene, left, right| Scene { program: Some(left), starts: pair(&right, "x"), ..scene },
            |scene, left, right| Scene { cwd: Some(left), environment: vec![right], ..scene },
            |scene, left, right| Scene { base_sha256: Some(left), project: right, ..scene },
            |scene, left, right| Scene { project: left, session: Some(right), ..scene },
            |scene, left, right| Scene { agent: left, user: right, ..scene },
            |scene, left, right| Scene { user: left, node: Some(right), ..scene },
            |scene, left, right| Scene { arguments: json!([left, right]), ..scene },
        ];
        for pair in pairs {
            let one = pair(base.clone(), left.clone(), right.clone()).digest();
            let other = pair(base.clone(), other_left.clone(), other_right.clone()).digest();
            prop_assert_eq!(left == other_left, one == other);
        }
    }
}
