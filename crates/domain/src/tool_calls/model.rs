//! An exhaustive model of a call: one server, two nodes, a person who decides, and a network that loses, repeats and
//! reorders, with crashes of each side between any two steps (ADR 0026). Every state that can be reached is looked at.
//!
//! That it would find a mistake is shown by its twins: each lacks one rule, and must fail in the way the rule is there for.

mod explorer;
mod nodes;
mod server;
mod world;

use super::CallStatus;
use explorer::{Model, NO_END, Verdict, explore};
use world::{Call, Digest, Memory, Message, NODES, Outcome, World};

/// The rules that a call is kept by; a twin lacks one.
#[derive(Debug, Clone, Copy)]
struct Rules {
    /// A node begins only after the server's yes to its acceptance.
    waits_for_yes: bool,
    /// A node writes down that it begins before it does.
    journals_beginning: bool,
    /// A server hears only the node that was told, and only of the newest telling.
    has_fence: bool,
    /// A yes counts only for what was shown.
    binds_digest: bool,
    /// A yes counts only in time.
    heeds_expiry: bool,
    /// An outcome is taken only if nobody has it.
    consumes_once: bool,
    /// Nothing is moved but as the machine allows.
    asks_the_machine: bool,
    /// What takes too long is given up.
    has_deadlines: bool,
}

const ALL: Rules = Rules {
    waits_for_yes: true,
    journals_beginning: true,
    has_fence: true,
    binds_digest: true,
    heeds_expiry: true,
    consumes_once: true,
    asks_the_machine: true,
    has_deadlines: true,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    // The server's own.
    Judge,
    FindInvalid,
    Deny,
    Cancel,
    TimeToDecideIsOver,
    GiveUp,
    Dispatch,
    TellAgain,
    TellTheOtherNode,
    WakeTurn,
    TakeOutcome,
    // The person's.
    SayYes(Digest),
    SayNo,
    // A node's.
    Ask(u8),
    Begin(u8),
    Execute(u8),
    WriteDown(u8, Outcome),
    Recover(u8),
    SayStarted(u8),
    SayResult(u8),
    // The network's. A signal may be heard by either node, or be refused by the one it is for.
    ServerHears(Message),
    NodeHears(u8, Message),
    NodeRefuses(u8, u8),
    // What goes wrong.
    ServerHearsAndAgain(Message),
    NodeHearsAndAgain(u8, Message),
    Lose(Message),
    ServerCrashes,
    NodeCrashes(u8),
}

struct House {
    rules: Rules,
    calls: &'static [Call],
    messages: Vec<Message>,
}

/// Its risk matters only until it is approved and its kind only after a crash: two calls show all there is to see.
const LOW_FILE: Call = Call { is_low: true, is_file: true };
const HIGH_COMMAND: Call = Call { is_low: false, is_file: false };
const BOTH: &[Call] = &[LOW_FILE, HIGH_COMMAND];

impl House {
    fn with(rules: Rules, calls: &'static [Call]) -> Self {
        Self { rules, calls, messages: Message::all() }
    }

    /// Every step that somebody might try here; those that change nothing are left out by `next`.
    fn steps(&self, world: &World) -> Vec<Step> {
        let mut steps = vec![
            Step::Judge,
            Step::FindInvalid,
            Step::Deny,
            Step::Cancel,
            Step::TimeToDecideIsOver,
            Step::GiveUp,
            Step::Dispatch,
            Step::TellAgain,
            Step::TellTheOtherNode,
            Step::WakeTurn,
            Step::TakeOutcome,
            Step::ServerCrashes,
        ];
        if world.server.status == CallStatus::WaitingApproval {
            steps.extend([Step::SayYes(Digest::Right), Step::SayYes(Digest::Stale), Step::SayNo]);
        }
        for node in NODES.into_iter().filter(|node| world.nodes[usize::from(*node)].has_heard()) {
            let own = [Step::Ask, Step::Begin, Step::Execute, Step::Recover, Step::SayStarted, Step::SayResult];
            steps.extend(own.map(|step| step(node)));
            steps.extend([Outcome::Done, Outcome::BrokeOff].map(|outcome| Step::WriteDown(node, outcome)));
            steps.push(Step::NodeCrashes(node));
        }
        for message in self.messages.iter().copied().filter(|message| world.network.holds(*message)) {
            steps.push(Step::Lose(message));
            match message {
                Message::Told(attempt) => {
                    steps.extend(NODES.map(|node| Step::NodeHears(node, message)));
                    steps.extend(NODES.map(|node| Step::NodeHearsAndAgain(node, message)));
                    steps.extend(NODES.map(|node| Step::NodeRefuses(node, attempt)));
                }
                Message::Yes(node, _) | Message::No(node, _) => {
                    steps.extend([Step::NodeHears(node, message), Step::NodeHearsAndAgain(node, message)]);
                }
                _ => steps.extend([Step::ServerHears(message), Step::ServerHearsAndAgain(message)]),
            }
        }
        steps
    }

    fn take(&self, world: &mut World, step: Step) {
        let rules = self.rules;
        match step {
            Step::Judge => world.judge(),
            Step::FindInvalid => drop(world.move_to(CallStatus::Invalid)),
            Step::Deny => drop(world.move_to(CallStatus::Denied)),
            Step::Cancel => world.cancel(rules),
            Step::TimeToDecideIsOver => world.server.is_late |= world.server.status == CallStatus::WaitingApproval,
            Step::GiveUp if rules.has_deadlines => world.give_up(),
            Step::GiveUp => {}
            Step::Dispatch => world.dispatch(),
            Step::TellAgain => world.tell_again(),
            Step::TellTheOtherNode => world.tell_the_other_node(),
            Step::WakeTurn => world.wake(),
            Step::TakeOutcome => world.take_outcome(rules),
            Step::SayYes(digest) => say_yes(world, digest),
            Step::SayNo if !world.person.said_no => {
                world.person.said_no = true;
                world.send(Message::Reject);
            }
            Step::SayNo => {}
            Step::Ask(node) => world.ask(node),
            Step::Begin(node) => world.begin(node, rules),
            Step::Execute(node) => world.execute(node),
            Step::WriteDown(node, outcome) => world.write_down(node, outcome),
            Step::Recover(node) => world.recover(node),
            Step::SayStarted(node) => world.say_started(node),
            Step::SayResult(node) => world.say_result(node),
            Step::ServerHears(message) => {
                world.network = world.network.without(message);
                world.server_hears(message, rules);
            }
            Step::ServerHearsAndAgain(message) => world.server_hears(message, rules),
            Step::NodeHears(node, message) => {
                world.network = world.network.without(message);
                world.node_hears(node, message);
            }
            Step::NodeHearsAndAgain(node, message) => world.node_hears(node, message),
            Step::NodeRefuses(node, attempt) => {
                world.network = world.network.without(Message::Told(attempt));
                world.refuse(node, attempt);
            }
            Step::Lose(message) => world.network = world.network.without(message),
            Step::ServerCrashes => world.server.is_resuming = false,
            Step::NodeCrashes(node) => world.node(node).memory = Memory::Nothing,
        }
    }
}

fn say_yes(world: &mut World, digest: Digest) {
    let said = match digest {
        Digest::Right => &mut world.person.said_yes,
        Digest::Stale => &mut world.person.said_yes_to_stale,
    };
    if !std::mem::replace(said, true) {
        world.send(Message::Approve(digest));
    }
}

const TWICE: &str = "it was executed twice";
const TAKEN_TWICE: &str = "its outcome was taken twice";
const WITHOUT_YES: &str = "it was executed without a yes to the same, in time";
const FALSE_PROOF: &str = "it ended in a way that proves that nothing ran, and it ran";
const FALSE_END: &str = "it is said to have run to its end, and never ran";
const TOO_EARLY: &str = "an outcome was taken before there was one";

impl Model for House {
    type State = World;
    type Step = Step;

    fn beginnings(&self) -> Vec<World> {
        self.calls.iter().copied().map(World::of).collect()
    }

    fn next(&self, world: &World) -> Vec<(Step, World)> {
        let taken = self.steps(world).into_iter().map(|step| {
            let mut next = *world;
            self.take(&mut next, step);
            (step, next)
        });
        taken.filter(|(_, next)| next != world).collect()
    }

    /// An end must not depend on anybody's decision, nor on something going wrong.
    fn can_be_relied_on(&self, step: &Step) -> bool {
        !matches!(
            step,
            Step::FindInvalid
                | Step::Deny
                | Step::Cancel
                | Step::SayYes(_)
                | Step::SayNo
                | Step::NodeRefuses(..)
                | Step::ServerHearsAndAgain(_)
                | Step::NodeHearsAndAgain(..)
                | Step::Lose(_)
                | Step::ServerCrashes
                | Step::NodeCrashes(_)
        )
    }

    fn wrong(&self, world: &World) -> Option<&'static str> {
        let (server, has_run) = (&world.server, world.executions() > 0);
        let has_yes = world.call.is_low
            || server
                .approved_by
                .is_some_and(|yes| yes.digest == Digest::Right && !yes.was_late && world.person.said_yes);
        let checks = [
            (world.executions() > 1, TWICE),
            (server.consumptions > 1, TAKEN_TWICE),
            (has_run && !has_yes, WITHOUT_YES),
            (has_run && server.status.proves_that_nothing_ran(), FALSE_PROOF),
            (!has_run && server.status == CallStatus::Completed, FALSE_END),
            (server.is_consumed && !server.status.has_ended(), TOO_EARLY),
        ];
        checks.into_iter().find_map(|(is_wrong, what)| is_wrong.then_some(what))
    }

    fn is_end(&self, world: &World) -> bool {
        world.server.is_consumed && world.server.status.has_ended()
    }
}

/// Fewer states than this, and the model has lost something.
const STATES_LEAST: usize = 300_000;

#[test]
fn a_call_runs_at_most_once_with_the_right_yes_and_always_ends() {
    let worlds = sound(&House::with(ALL, BOTH));
    println!("{} states", worlds.len());
    assert!(worlds.len() > STATES_LEAST, "{} states", worlds.len());
    for status in CallStatus::ALL.into_iter().filter(|status| *status != CallStatus::Validated) {
        assert!(worlds.iter().any(|world| world.server.status == status), "no call is ever {status:?}");
    }
    for node in 0..NODES.len() {
        assert!(worlds.iter().any(|world| world.nodes[node].executions == 1), "node {node} never does anything");
    }
}

#[test]
fn a_call_that_nobody_has_to_decide_ends_even_without_deadlines_if_its_nodes_come_back() {
    sound(&House::with(Rules { has_deadlines: false, ..ALL }, &[LOW_FILE]));
}

fn sound(house: &House) -> Vec<World> {
    match explore(house) {
        Verdict::Sound(worlds) => worlds,
        Verdict::Broken(what, way) => panic!("{what}: {way:#?}"),
    }
}

#[test]
fn without_any_one_of_its_rules_the_model_finds_what_the_rule_is_for() {
    let twins = [
        (Rules { waits_for_yes: false, ..ALL }, FALSE_PROOF),
        (Rules { journals_beginning: false, ..ALL }, TWICE),
        (Rules { has_fence: false, ..ALL }, TWICE),
        (Rules { binds_digest: false, ..ALL }, WITHOUT_YES),
        (Rules { heeds_expiry: false, ..ALL }, WITHOUT_YES),
        (Rules { consumes_once: false, ..ALL }, TAKEN_TWICE),
        (Rules { asks_the_machine: false, ..ALL }, FALSE_PROOF),
        (Rules { has_deadlines: false, ..ALL }, NO_END),
    ];
    for (rules, expected) in twins {
        match explore(&House::with(rules, BOTH)) {
            Verdict::Sound(worlds) => panic!("{rules:?}: {} states and nothing found", worlds.len()),
            Verdict::Broken(what, way) => {
                println!("{expected}: {way:?}");
                assert_eq!(what, expected, "{rules:?}: {way:#?}");
            }
        }
    }
}

#[test]
fn every_message_has_a_place_of_its_own() {
    for (place, message) in Message::all().into_iter().enumerate() {
        assert_eq!(message.place() as usize, place, "{message:?}");
    }
}
