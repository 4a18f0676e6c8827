//! What there is in the model: a call, the server that keeps it, a person who may decide, two nodes that may do it, and a
//! network between them.
//!
//! A process that is down is one that takes no step, so a crash and the start after it are one step that forgets what was
//! only in memory. What a server does in one transaction is one step: a crash before it is a message that was lost on its
//! way in, a crash after it one that was lost on its way out.

use crate::tool_calls::CallStatus;

/// The two nodes, and the attempts that a call can have: the first goes to the first node, the second to the other.
pub(super) const NODES: [u8; 2] = [0, 1];
pub(super) const ATTEMPTS: [u8; 2] = [1, 2];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) call: Call,
    pub(super) server: Server,
    pub(super) person: Person,
    pub(super) nodes: [Node; 2],
    pub(super) network: Network,
}

/// What a call is, which nothing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Call {
    /// Runs without being asked about.
    pub(super) is_low: bool,
    /// Whether it was done can be looked up afterwards, which for a command it cannot.
    pub(super) is_file: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Server {
    pub(super) status: CallStatus,
    pub(super) attempt: u8,
    /// The time to decide is over, whether or not the timer has looked.
    pub(super) is_late: bool,
    pub(super) approved_by: Option<Yes>,
    pub(super) is_consumed: bool,
    /// How often an outcome was in fact taken.
    pub(super) consumptions: u8,
    /// In memory: a turn was woken and is about to take it.
    pub(super) is_resuming: bool,
}

/// The yes that counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Yes {
    pub(super) digest: Digest,
    pub(super) was_late: bool,
}

/// What somebody saw when they said yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Digest {
    /// What will be done.
    Right,
    /// Something else, earlier.
    Stale,
}

/// What the person has said so far, each once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Person {
    pub(super) said_yes: bool,
    pub(super) said_yes_to_stale: bool,
    pub(super) said_no: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) journal: Journal,
    pub(super) memory: Memory,
    /// How often it did what the call says: the world remembers that, whatever the node does.
    pub(super) executions: u8,
}

/// On the node's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Journal {
    Nothing,
    Intent(u8),
    Begun(u8),
    Ended(u8, Outcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Outcome {
    Done,
    BrokeOff,
    Unknown,
}

/// Gone after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Memory {
    Nothing,
    /// The server has said yes.
    Permitted,
    /// About to do it.
    Doing(u8),
    /// It is done and not yet written down.
    Did(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Message {
    Approve(Digest),
    Reject,
    /// To whoever hears it: the signal is a hint.
    Told(u8),
    /// From a node, of an attempt.
    Accept(u8, u8),
    Refuse(u8, u8),
    Started(u8, u8),
    Result(u8, u8, Outcome),
    /// To a node, of an attempt.
    Yes(u8, u8),
    No(u8, u8),
}

/// Messages on their way, in no order. What does not fit is lost, as anything may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Network(u64);

const MOST_ON_THEIR_WAY: u32 = 3;

impl Message {
    /// Every message that can exist, in the order of their places.
    pub(super) fn all() -> Vec<Self> {
        let mut all = vec![Self::Approve(Digest::Right), Self::Approve(Digest::Stale), Self::Reject];
        all.extend(ATTEMPTS.map(Self::Told));
        for (node, attempt) in NODES.into_iter().flat_map(|node| ATTEMPTS.map(|attempt| (node, attempt))) {
            let made = [Self::Accept, Self::Refuse, Self::Started, Self::Yes, Self::No];
            all.extend(made.map(|made| made(node, attempt)));
            let outcomes = [Outcome::Done, Outcome::BrokeOff, Outcome::Unknown];
            all.extend(outcomes.map(|outcome| Self::Result(node, attempt, outcome)));
        }
        all
    }

    /// Its place in the network.
    pub(super) fn place(self) -> u32 {
        let of = |node: u8, attempt: u8| 5 + 8 * (2 * u32::from(node) + u32::from(attempt) - 1);
        match self {
            Self::Approve(Digest::Right) => 0,
            Self::Approve(Digest::Stale) => 1,
            Self::Reject => 2,
            Self::Told(attempt) => 2 + u32::from(attempt),
            Self::Accept(node, attempt) => of(node, attempt),
            Self::Refuse(node, attempt) => of(node, attempt) + 1,
            Self::Started(node, attempt) => of(node, attempt) + 2,
            Self::Yes(node, attempt) => of(node, attempt) + 3,
            Self::No(node, attempt) => of(node, attempt) + 4,
            Self::Result(node, attempt, outcome) => of(node, attempt) + 5 + outcome as u32,
        }
    }
}

impl Network {
    pub(super) fn holds(self, message: Message) -> bool {
        self.0 & (1 << message.place()) != 0
    }

    #[must_use]
    pub(super) fn without(self, message: Message) -> Self {
        Self(self.0 & !(1 << message.place()))
    }
}

impl World {
    pub(super) fn of(call: Call) -> Self {
        let node = Node { journal: Journal::Nothing, memory: Memory::Nothing, executions: 0 };
        let server = Server {
            status: CallStatus::Proposed,
            attempt: 0,
            is_late: false,
            approved_by: None,
            is_consumed: false,
            consumptions: 0,
            is_resuming: false,
        };
        Self { call, server, person: Person::default(), nodes: [node; 2], network: Network(0) }
    }

    pub(super) fn send(&mut self, message: Message) {
        if self.network.0.count_ones() < MOST_ON_THEIR_WAY {
            self.network.0 |= 1 << message.place();
        }
    }

    pub(super) fn executions(&self) -> u8 {
        self.nodes.iter().map(|node| node.executions).sum()
    }
}
