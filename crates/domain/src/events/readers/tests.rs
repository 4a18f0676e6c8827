//! Who hears of a call, as a table.

use super::*;
use crate::callers::AgentRef;
use crate::events::StreamId;
use crate::ids::{ProjectId, WorkspaceId};
use crate::roles::Role;
use serde_json::json;

fn den() -> WorkspaceId {
    WorkspaceId::from_trusted("den".into())
}

fn of_marys_call(deciders: bool) -> Readers {
    Readers::OfCall(CallReaders {
        user: UserId::parse("mary").unwrap(),
        agent: AgentId::from_trusted("agt_1".into()),
        session: Some(SessionId::from_trusted("ses_1".into())),
        node: Some(NodeId::from_trusted("nod_1".into())),
        deciders,
    })
}

fn recorded(kind: EventKind, readable_by: Option<Readers>) -> RecordedEvent {
    let data = json!({"type": kind.as_str(), "at": "now", "workspace": "den", "session": "ses_1", "call": "call_1"});
    RecordedEvent {
        seq: 7,
        stream_seq: 3,
        workspace: den(),
        stream: StreamId::of_session(&SessionId::from_trusted("ses_1".into())),
        project: None,
        kind: kind.as_str().to_owned(),
        key: None,
        readable_by,
        data: data.to_string(),
    }
}

fn caller(user: &str, credential: Credential) -> Caller {
    let user = UserId::parse(user).unwrap();
    Caller { participant: Participant::of_user(&user), user, role: Role::Member, credential }
}

fn agent(id: &str, session: Option<&str>) -> Credential {
    let (project, id) = (ProjectId::from_trusted("prj_1".into()), AgentId::from_trusted(id.into()));
    let session = session.map(|id| SessionId::from_trusted(id.into()));
    Credential::Agent { agent: AgentRef { workspace: den(), project, id }, session }
}

fn node(workspace: WorkspaceId, id: &str) -> Credential {
    Credential::Node { workspace, node: NodeId::from_trusted(id.into()) }
}

#[test]
fn an_event_of_a_call_is_whole_for_those_whom_it_concerns_and_a_trace_for_others() {
    let elsewhere = WorkspaceId::from_trusted("elsewhere".into());
    let in_session = |id: &str| Credential::Session { workspace: den(), session: SessionId::from_trusted(id.into()) };
    for (user, credential, decides, deciders, expected) in [
        ("mary", Credential::User, false, false, Sight::Whole),
        ("mary", Credential::Operator, false, false, Sight::Whole),
        ("mary", agent("agt_1", None), false, false, Sight::Whole),
        ("mary", agent("agt_1", Some("ses_1")), false, false, Sight::Whole),
        ("mary", agent("agt_1", Some("ses_2")), false, false, Sight::Trace),
        ("mary", agent("agt_2", None), false, false, Sight::Trace),
        ("mary", in_session("ses_1"), false, false, Sight::Whole),
        ("mary", in_session("ses_2"), false, false, Sight::Trace),
        ("sean", Credential::User, false, true, Sight::Trace),
        ("sean", Credential::User, true, false, Sight::Trace),
        ("sean", Credential::User, true, true, Sight::Whole),
        ("sean", agent("agt_1", None), true, true, Sight::Trace),
        ("sean", in_session("ses_1"), true, true, Sight::Trace),
        ("sean", node(den(), "nod_1"), false, false, Sight::Whole),
        ("mary", node(den(), "nod_2"), true, true, Sight::Nothing),
        ("mary", node(elsewhere, "nod_1"), true, true, Sight::Nothing),
    ] {
        let caller = caller(user, credential);
        let event = recorded(EventKind::ToolCallUpdated, Some(of_marys_call(deciders)));
        assert_eq!(event.sight(&caller, decides), expected, "{caller:?} {decides} {deciders}");
    }
}

#[test]
fn an_event_of_a_call_that_says_of_nobody_whom_it_is_for_is_for_nobody() {
    let mary = caller("mary", Credential::User);
    for kind in EventKind::ALL {
        let expected = if kind.as_str().starts_with("TOOL_") { Sight::Trace } else { Sight::Whole };
        assert_eq!(recorded(kind, None).sight(&mary, true), expected, "{}", kind.as_str());
    }
}

#[test]
fn a_trace_tells_when_and_where_and_looks_alike_for_every_kind() {
    let traces = EventKind::OF_CALLS.map(|kind| recorded(kind, Some(of_marys_call(true))).trace());
    for trace in &traces {
        let told: Value = serde_json::from_str(&trace.data).unwrap();
        let bare = json!({"type": "TOOL_CALL_UPDATED", "at": "now", "workspace": "den", "session": "ses_1"});
        assert_eq!((trace.stream_seq, trace.kind.as_str(), told), (3, "TOOL_CALL_UPDATED", bare));
        assert_eq!(trace, &traces[0]);
    }
}

#[test]
fn readers_are_kept_as_a_list_or_as_those_of_a_call() {
    let list = Readers::only(&Participant::orchestrator());
    assert_eq!(serde_json::to_value(&list).unwrap(), json!(["orchestrator"]));
    for readers in [list, of_marys_call(true)] {
        let kept = serde_json::to_string(&readers).unwrap();
        assert_eq!(serde_json::from_str::<Readers>(&kept).unwrap(), readers);
    }
}
