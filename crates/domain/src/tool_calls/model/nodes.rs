//! What a node does. It hears of every call, also of those that are not its own: that it gets no yes for them is the
//! server's business.

use super::Rules;
use super::world::{Journal, Memory, Message, Node, Outcome, World};

impl Node {
    /// One that has heard of nothing does nothing, and has nothing to forget.
    pub(super) fn has_heard(self) -> bool {
        self.journal != Journal::Nothing || self.memory != Memory::Nothing
    }
}

impl World {
    pub(super) fn node(&mut self, at: u8) -> &mut Node {
        &mut self.nodes[usize::from(at)]
    }

    pub(super) fn node_hears(&mut self, at: u8, message: Message) {
        let node = self.node(at);
        let has_begun = matches!(node.memory, Memory::Doing(_) | Memory::Did(_));
        match (message, node.journal) {
            (_, Journal::Begun(_) | Journal::Ended(..)) => {}
            _ if has_begun => {}
            (Message::Told(attempt), Journal::Nothing) => node.journal = Journal::Intent(attempt),
            (Message::Told(attempt), Journal::Intent(earlier)) if earlier < attempt => {
                node.journal = Journal::Intent(attempt);
                node.memory = Memory::Nothing;
            }
            (Message::Yes(_, attempt), Journal::Intent(intended)) if attempt == intended => {
                node.memory = Memory::Permitted;
            }
            (Message::No(_, attempt), Journal::Intent(intended)) if attempt == intended => {
                node.journal = Journal::Nothing;
                node.memory = Memory::Nothing;
            }
            _ => {}
        }
    }

    /// Its own check says no, of a call that is its own.
    pub(super) fn refuse(&mut self, at: u8, attempt: u8) {
        if self.node(at).journal == Journal::Nothing && at + 1 == attempt {
            self.send(Message::Refuse(at, attempt));
        }
    }

    pub(super) fn ask(&mut self, at: u8) {
        if let Node { journal: Journal::Intent(attempt), memory: Memory::Nothing, .. } = *self.node(at) {
            self.send(Message::Accept(at, attempt));
        }
    }

    pub(super) fn begin(&mut self, at: u8, rules: Rules) {
        let node = self.node(at);
        let Journal::Intent(attempt) = node.journal else { return };
        let may = match node.memory {
            Memory::Permitted => true,
            Memory::Nothing => !rules.waits_for_yes,
            Memory::Doing(_) | Memory::Did(_) => false,
        };
        if may {
            node.memory = Memory::Doing(attempt);
            if rules.journals_beginning {
                node.journal = Journal::Begun(attempt);
            }
        }
    }

    pub(super) fn execute(&mut self, at: u8) {
        let node = self.node(at);
        if let Memory::Doing(attempt) = node.memory {
            node.memory = Memory::Did(attempt);
            node.executions += 1;
        }
    }

    pub(super) fn write_down(&mut self, at: u8, outcome: Outcome) {
        let node = self.node(at);
        if let Memory::Did(attempt) = node.memory {
            node.memory = Memory::Nothing;
            node.journal = Journal::Ended(attempt, outcome);
        }
    }

    /// After a crash: what had begun is looked up, or nobody can know.
    pub(super) fn recover(&mut self, at: u8) {
        let is_file = self.call.is_file;
        let node = self.node(at);
        if let Node { journal: Journal::Begun(attempt), memory: Memory::Nothing, executions } = *node {
            let found = if executions > 0 { Outcome::Done } else { Outcome::BrokeOff };
            node.journal = Journal::Ended(attempt, if is_file { found } else { Outcome::Unknown });
        }
    }

    pub(super) fn say_started(&mut self, at: u8) {
        if let Memory::Doing(attempt) | Memory::Did(attempt) = self.node(at).memory {
            self.send(Message::Started(at, attempt));
        }
    }

    pub(super) fn say_result(&mut self, at: u8) {
        if let Journal::Ended(attempt, outcome) = self.node(at).journal {
            self.send(Message::Result(at, attempt, outcome));
        }
    }
}
