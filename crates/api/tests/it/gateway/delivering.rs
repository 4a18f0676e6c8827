//! Answers that are owed to a place: sent in order, tried again, and not said where they no longer belong.

use super::recorder::Recorder;
use super::{Gate, declaration, place};
use domain::channels::{ChatType, DisplayName, InboundKind, InboundMessage, Marks};
use domain::ids::WorkspaceId;
use domain::routing::ReasonCode;
use service::gateway::{self, Door, Received};
use std::sync::Arc;
use std::time::Duration;

pub(super) fn heard(id: &str, text: &str) -> InboundMessage {
    InboundMessage {
        account: "42".to_owned(),
        place: place("telegram", "-100"),
        thread_id: Some("7".to_owned()),
        chat: ChatType::Group,
        sender_id: Some("1111".to_owned()),
        display_name: DisplayName::new("Sean"),
        message_id: id.to_owned(),
        update_id: Some(format!("u{id}")),
        text: text.to_owned(),
        kind: InboundKind::Message(None),
        marks: Marks { is_addressed: true, ..Marks::default() },
    }
}

impl Gate {
    pub(super) async fn hear(&self, message: InboundMessage) -> Received {
        gateway::receive(&self.world.house, message, Door::Outlet).await.unwrap()
    }

    /// Takes a message and lets its turn end.
    async fn ask(&self, id: &str, text: &str) {
        let message = heard(id, text);
        let received = self.hear(message.clone()).await;
        let taken = received.taken.expect("taken");
        gateway::answer(&self.world.house, &message, &taken, Duration::from_secs(20)).await.unwrap().expect("ended");
    }

    pub(super) async fn deliver(&self, outlet: &Recorder) -> usize {
        gateway::deliver_once(&self.world.house, Arc::new(outlet.clone())).await.unwrap()
    }
}

#[tokio::test]
async fn answers_go_where_the_question_came_from_in_order_and_once() {
    let (gate, outlet) = (Gate::new().await, Recorder::default());
    gate.ask("1", "one").await;
    gate.ask("2", "two").await;
    assert_eq!(gate.deliver(&outlet).await, 2);
    assert_eq!(outlet.texts(), ["You said: one", "You said: two"]);
    let first = outlet.said.lock().unwrap()[0].clone();
    assert_eq!((first.thread_id.as_deref(), first.reply_to.as_deref()), (Some("7"), Some("1")));
    assert_eq!(gate.deliver(&outlet).await, 0);
    let world = gate.world.reopened().await;
    let gate = Gate { world, ..gate };
    assert_eq!(gate.deliver(&outlet).await, 0, "what was sent stays sent");
}

#[tokio::test]
async fn what_is_owed_when_the_server_dies_is_sent_by_the_next() {
    let (gate, outlet) = (Gate::new().await, Recorder::default());
    gate.ask("1", "still owed").await;
    let world = gate.world.reopened().await;
    let gate = Gate { world, ..gate };
    assert_eq!(gate.deliver(&outlet).await, 1);
    let again = gate.hear(heard("1", "still owed")).await;
    assert_eq!(again.routing.unwrap().decision, Err(ReasonCode::Duplicate));
    let mut other_id = heard("9", "still owed");
    other_id.update_id = Some("u1".to_owned());
    let again = gate.hear(other_id).await;
    assert_eq!(again.routing.unwrap().decision, Err(ReasonCode::Duplicate), "the same update under another id");
}

#[tokio::test]
async fn a_failed_send_is_tried_again_holds_its_place_back_and_is_shown() {
    let (gate, outlet) = (Gate::new().await, Recorder::default());
    outlet.failing(1, true);
    gate.ask("1", "one").await;
    gate.ask("2", "two").await;
    assert_eq!(gate.deliver(&outlet).await, 0, "two waits for one");
    let shown = gate.world.get("/admin/deliveries").by(&gate.admin).send().await.ok();
    assert_eq!((shown["items"].as_array().unwrap().len(), &shown["items"][0]["attempts"]), (1, &1.into()));
    assert_eq!(shown["items"][0]["last_error"], "the provider failed with status 502");
    gate.world.clock.advance_s(6);
    assert_eq!(gate.deliver(&outlet).await, 2);
    assert_eq!(outlet.texts(), ["You said: one", "You said: two"]);
}

#[tokio::test]
async fn a_long_answer_goes_on_where_it_was_held_up_also_by_the_next_server() {
    let (gate, outlet) = (Gate::new().await, Recorder::default());
    let long: String = (0..700).map(|number| format!("line {number} of a long answer\n")).collect();
    gate.provider.answering_first(move |_| Some(testkit::Turn::say(&long)));
    outlet.taking(2);
    outlet.failing(1, true);
    gate.ask("1", "tell me all").await;
    assert_eq!(gate.deliver(&outlet).await, 0);
    assert_eq!(outlet.texts().len(), 2);
    let world = gate.world.reopened().await;
    let gate = Gate { world, ..gate };
    gate.world.clock.advance_s(6);
    assert_eq!(gate.deliver(&outlet).await, 1);
    let said = outlet.texts().concat();
    for number in 0..700 {
        assert_eq!(said.matches(&format!("line {number} of")).count(), 1, "{number}");
    }
    let replies = outlet.said.lock().unwrap().iter().filter(|message| message.reply_to.is_some()).count();
    assert_eq!(replies, 1, "the first part is the answer to the message");
}

#[tokio::test]
async fn what_was_under_way_when_the_server_died_is_tried_again_after_a_pause() {
    let (gate, outlet) = (Gate::new().await, Recorder::default());
    outlet.is_mute.store(true, std::sync::atomic::Ordering::Relaxed);
    gate.ask("1", "perhaps heard").await;
    let cut = tokio::time::timeout(Duration::from_millis(300), gate.deliver(&outlet)).await;
    assert!(cut.is_err() && outlet.texts().len() == 1);
    outlet.is_mute.store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(gate.deliver(&outlet).await, 0, "not at once: nobody is told the same every second");
    gate.world.clock.advance_s(6);
    assert_eq!(gate.deliver(&outlet).await, 1);
}

#[tokio::test]
async fn what_no_provider_takes_is_given_up_with_an_alert_and_the_next_goes_on() {
    let (gate, outlet) = (Gate::new().await, Recorder::default());
    outlet.failing(1, false);
    gate.ask("1", "one").await;
    gate.ask("2", "two").await;
    assert_eq!(gate.deliver(&outlet).await, 1);
    assert_eq!(outlet.texts(), ["You said: two"]);
    let shown = gate.world.get("/admin/deliveries").by(&gate.admin).send().await.ok();
    assert_eq!(shown["items"][0]["status"], "failed");
    let homelab = WorkspaceId::parse("homelab").unwrap();
    let events = testkit::workspace_events(&gate.world.house, &homelab).await;
    assert!(events.iter().any(|(kind, _)| kind == "ALERT"), "{events:?}");
}

#[tokio::test]
async fn nothing_is_said_in_a_place_that_leads_there_no_more() {
    let (gate, outlet) = (Gate::new().await, Recorder::default());
    gate.ask("1", "for the lab only").await;
    let mut changed = declaration();
    changed.workspaces.get_mut(&WorkspaceId::parse("homelab").unwrap()).unwrap().bindings.clear();
    gate.world.declare(changed).await;
    assert_eq!(gate.deliver(&outlet).await, 0);
    gate.world.declare(declaration()).await;
    assert_eq!(gate.deliver(&outlet).await, 0, "dropped for good");
    assert!(outlet.texts().is_empty());
}

#[tokio::test]
async fn edits_pictures_and_talk_that_is_not_for_us_begin_no_turn() {
    let gate = Gate::new().await;
    let edit = InboundMessage { kind: InboundKind::Edit, ..heard("1", "said differently") };
    assert!(gate.hear(edit).await.routing.is_none());
    let talk = InboundMessage { marks: Marks::default(), ..heard("2", "among ourselves") };
    assert!(gate.hear(talk).await.routing.is_none());
    let marks = Marks { is_addressed: true, has_media: true, ..Marks::default() };
    let picture = InboundMessage { marks, ..heard("3", "") };
    let received = gate.hear(picture).await;
    assert!(received.say.unwrap().contains("text") && received.taken.unwrap().turn.is_none());
    let nobody = InboundMessage { sender_id: None, ..heard("4", "I am an anonymous admin") };
    let received = gate.hear(nobody).await;
    assert_eq!(received.routing.unwrap().decision, Err(ReasonCode::UnknownSender));
    assert!(received.say.is_none());
    assert!(gate.provider.requests().is_empty());
}

#[tokio::test]
async fn a_failed_turn_is_told_in_a_sentence() {
    let (gate, outlet) = (Gate::new().await, Recorder::default());
    gate.provider.script(vec![testkit::Turn::fault(testkit::Fault::Status(401, None)); 5]);
    gate.ask("1", "hello").await;
    assert_eq!(gate.deliver(&outlet).await, 1);
    assert!(outlet.texts()[0].starts_with("I could not answer that."), "{:?}", outlet.texts());
}

#[tokio::test]
async fn a_running_house_sends_as_turns_end() {
    let (gate, outlet) = (Gate::new().await, Recorder::default());
    let running = tokio::spawn(gateway::deliver(gate.world.house.clone(), Arc::new(outlet.clone())));
    for number in 0..5 {
        gate.ask(&number.to_string(), &format!("question {number}")).await;
    }
    let all = async {
        while outlet.texts().len() < 5 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(4), all).await.expect("without waiting for the next look");
    assert_eq!(outlet.texts()[4], "You said: question 4");
    running.abort();
}
