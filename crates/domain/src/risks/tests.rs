//! Risk as tables: which reason each call has, and that nothing lowers one.

use super::*;
use crate::node_tools::{NodeRequest, NodeTool};
use proptest::prelude::*;
use serde_json::{Value, json};

fn request(tool: NodeTool, arguments: &Value) -> NodeRequest {
    NodeRequest::parse(tool, arguments).unwrap()
}

fn read(path: &str) -> NodeRequest {
    request(NodeTool::ReadFile, &json!({"path": path}))
}

fn list(path: &str) -> NodeRequest {
    request(NodeTool::ListDirectory, &json!({"path": path, "recursive": true}))
}

fn write(path: &str) -> NodeRequest {
    request(NodeTool::WriteFile, &json!({"path": path, "content": "x"}))
}

fn append(path: &str) -> NodeRequest {
    request(NodeTool::WriteFile, &json!({"path": path, "content": "x", "mode": "append"}))
}

fn edit(path: &str) -> NodeRequest {
    request(NodeTool::EditFile, &json!({"path": path, "old": "a", "new": "b"}))
}

fn delete(path: &str) -> NodeRequest {
    request(NodeTool::DeleteFile, &json!({"path": path}))
}

fn command(args: &[&str]) -> NodeRequest {
    request(NodeTool::ExecuteCommand, &json!({"program": "ls", "args": args}))
}

const NEW: Known<'static> = Known {
    has_read: false,
    exists: Some(false),
    resolved: None,
    is_unseen: false,
    network: false,
    is_always_asked: false,
    also_shown: &[],
};
const UNREAD: Known<'static> = Known { exists: Some(true), ..NEW };
const UNKNOWN: Known<'static> = Known { exists: None, ..NEW };
const KNOWN: Known<'static> = Known { has_read: true, ..UNREAD };
const UNSEEN: Known<'static> = Known { is_unseen: true, ..KNOWN };
const READ_BEFORE: Known<'static> = Known { has_read: true, ..UNKNOWN };

#[test]
fn each_call_has_the_risk_that_is_written_down_for_it() {
    use Risk::{High, Low, Medium};
    let cases = [
        (read("src/a.rs"), UNKNOWN, Low),
        (read("/work/a"), UNKNOWN, Low),
        (read(".git/HEAD"), KNOWN, Low),
        (read(".github/workflows/ci.yml"), KNOWN, Low),
        (read("longhouse.yaml"), KNOWN, Low),
        (read(".env"), KNOWN, High),
        (read("a/../.ENV"), KNOWN, High),
        (read("keys/id_rsa"), KNOWN, High),
        (read("tls/server.pem"), KNOWN, High),
        (list("."), UNKNOWN, Low),
        (list(".git"), UNKNOWN, Low),
        (list(".ssh"), UNKNOWN, High),
        (write("a"), NEW, Medium),
        (write("a"), KNOWN, Medium),
        (write("a"), READ_BEFORE, Medium),
        (write("a"), UNREAD, High),
        (write("a"), UNKNOWN, High),
        (append("a"), UNREAD, Medium),
        (append("a"), UNKNOWN, Medium),
        (edit("a"), UNREAD, Medium),
        (edit("a"), KNOWN, Medium),
        (write("a"), UNSEEN, High),
        (append("a"), UNSEEN, High),
        (edit("a"), UNSEEN, High),
        (edit("a"), Known { exists: None, ..UNSEEN }, High),
        (write("a"), Known { exists: Some(false), ..UNSEEN }, Medium),
        (write(".git/hooks/pre-commit"), NEW, High),
        (append(".bashrc"), KNOWN, High),
        (edit(".GitHub/workflows/x.yml"), KNOWN, High),
        (edit("longhouse.yaml"), KNOWN, High),
        (write("longhouse-data/x"), NEW, High),
        (write(".env.local"), NEW, High),
        (read("CLAUDE.md"), KNOWN, Low),
        (read(".claude/settings.json"), KNOWN, Low),
        (write("AGENTS.md"), KNOWN, High),
        (write(".mcp.json"), NEW, High),
        (edit("sub/.claude/settings.json"), KNOWN, High),
        (append("Claude.md"), KNOWN, High),
        (delete("a"), KNOWN, High),
        (command(&[]), KNOWN, High),
        (command(&["--help"]), KNOWN, High),
    ];
    for (request, known, expected) in cases {
        let assessment = assess(&request, known);
        assert_eq!(assessment.risk, expected, "{request:?} {known:?}");
        assert!(!assessment.reasons.is_empty() && assessment.reasons.iter().all(|reason| reason.len() > 10));
    }
}

#[test]
fn what_is_not_seen_makes_any_call_a_high_risk() {
    let hidden = "a\u{202e}b";
    let with = |tool, arguments: Value| request(tool, &arguments);
    let cases = [
        with(NodeTool::ReadFile, json!({"path": hidden})),
        with(NodeTool::ReadFile, json!({"path": "a\nb"})),
        with(NodeTool::ReadFile, json!({"path": "a\u{a0}b"})),
        with(NodeTool::ListDirectory, json!({"path": ".", "pattern": "*\u{200b}"})),
        with(NodeTool::WriteFile, json!({"path": "a", "content": hidden})),
        with(NodeTool::WriteFile, json!({"path": "a", "content": "\u{1b}[2K"})),
        with(NodeTool::WriteFile, json!({"path": "a", "content": "a\u{e0041}"})),
        with(NodeTool::EditFile, json!({"path": "a", "old": hidden, "new": ""})),
        with(NodeTool::EditFile, json!({"path": "a", "old": "a", "new": hidden})),
    ];
    for request in cases {
        assert_eq!(assess(&request, KNOWN).risk, Risk::High, "{request:?}");
    }
    let shown = Known { also_shown: &["fine", "not\u{200b}fine"], ..KNOWN };
    assert_eq!(assess(&read("a"), shown).risk, Risk::High);
    let arguments = json!({"program": "ls", "args": [hidden], "cwd": "a\u{200b}"});
    let reasons = assess(&request(NodeTool::ExecuteCommand, &arguments), KNOWN).reasons;
    assert_eq!(
        reasons,
        [
            "runs a command: what it does is seen only afterwards",
            "the working directory holds U+200B, which is not seen",
            "the argument holds U+202E, which changes the direction in which text is shown",
        ]
    );
    let ordinary = with(NodeTool::WriteFile, json!({"path": "ü/日本", "content": "a\n\tb\u{a0}é 🦀"}));
    assert_eq!(assess(&ordinary, KNOWN).risk, Risk::Medium);
}

#[test]
fn the_network_is_a_reason_of_its_own() {
    let known = Known { network: true, ..KNOWN };
    assert_eq!(
        assess(&command(&[]), known).reasons,
        [
            "runs a command: what it does is seen only afterwards",
            "may use the network: what it reads can leave the machine"
        ]
    );
    assert_eq!(assess(&read("a"), known).risk, Risk::High, "also where nobody would expect it");
}

#[test]
fn a_project_that_wants_every_call_asked_says_so_and_raises_nothing() {
    let asked = Known { is_always_asked: true, ..KNOWN };
    let why = "the project wants a person to be asked about every call (`approval: always`)";
    for request in [read("a"), list("."), edit("a"), delete("a"), command(&[])] {
        let (plain, found) = (assess(&request, KNOWN), assess(&request, asked));
        assert_eq!(found.risk, plain.risk, "{request:?}");
        assert_eq!(found.reasons.last().map(String::as_str), Some(why), "{request:?}");
        assert_eq!(found.reasons[..plain.reasons.len()], plain.reasons, "{request:?}");
    }
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let known = Known { resolved: Some("config/.env"), ..KNOWN };
    assert_eq!(
        assess(&read("notes.txt"), known),
        Assessment {
            risk: Risk::High,
            reasons: vec![
                "`.env*` is protected: it may hold secrets".to_owned(),
                "reads a file and changes nothing".to_owned()
            ],
        }
    );
}

#[test]
fn reasons_name_what_triggered_them_and_the_heaviest_comes_first() {
    assert_eq!(
        assess(&write(".git/hooks/pre-commit"), UNREAD).reasons,
        [
            "replaces a file that the agent has not read as it is now",
            "`.git` is protected: it decides what a repository holds and runs",
            "writes a file"
        ]
    );
    let twice = Known { resolved: Some("b/.env"), ..KNOWN };
    assert_eq!(assess(&edit(".env"), twice).reasons, ["`.env*` is protected: it may hold secrets", "changes a file"]);
}

proptest! {
    #[test]
    fn knowing_less_never_lowers_a_risk(
        path in "(a|\\.git|\\.env|src|\u{200b}|/){1,5}",
        content in "(a|\n|\u{202e}|\u{1b}){0,3}",
        has_read: bool,
        exists in prop::option::of(any::<bool>()),
    ) {
        let requests = [
            NodeRequest::parse(NodeTool::ReadFile, &json!({"path": path})),
            NodeRequest::parse(NodeTool::WriteFile, &json!({"path": path, "content": content})),
            NodeRequest::parse(NodeTool::EditFile, &json!({"path": path, "old": "a", "new": content})),
        ];
        for request in requests.into_iter().flatten() {
            let known = Known { has_read, exists, ..Known::default() };
            let found = assess(&request, known);
            prop_assert_eq!(&found, &assess(&request, known));
            prop_assert!(found.risk <= assess(&request, Known::default()).risk);
            let behind_a_link = Known { resolved: Some(".env"), ..known };
            prop_assert!(found.risk <= assess(&request, behind_a_link).risk);
            let with_more = Known { network: true, is_always_asked: true, ..known };
            prop_assert!(found.risk <= assess(&request, with_more).risk);
            prop_assert!(request.tool().only_looks() || found.risk > Risk::Low);
        }
    }
}

#[test]
fn a_plugins_call_is_as_dangerous_as_can_be_wherever_a_person_is_asked() {
    for (waits, always, expected) in
        [(false, false, Risk::Low), (true, false, Risk::High), (false, true, Risk::High), (true, true, Risk::High)]
    {
        let found = assess_plugin("k8s", waits, always, "{}");
        assert_eq!((found.risk, found.reasons.len()), (expected, 1 + usize::from(always)), "{waits} {always}");
    }
    let hidden = assess_plugin("k8s", true, false, "{\"name\":\"a\u{202e}b\"}");
    assert!(hidden.reasons.iter().any(|reason| reason.contains("its arguments hold")), "{hidden:?}");
}
