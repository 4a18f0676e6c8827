//! Walks through every state that a model can reach, breadth first, so that a way to something wrong is a shortest one.
//!
//! A checker of our own: those that can be had bring a web server, and none answers the question whether an end can still be
//! reached from everywhere once nothing fails any more.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Something that can be in one of finitely many states.
pub(super) trait Model {
    type State: Copy + Eq + Hash;
    type Step: Copy + Debug;

    fn beginnings(&self) -> Vec<Self::State>;

    /// What can happen next, and what it leads to.
    fn next(&self, state: &Self::State) -> Vec<(Self::Step, Self::State)>;

    /// Whether this will happen some time if it can; a fault or somebody's decision may, but must not be needed.
    fn can_be_relied_on(&self, step: &Self::Step) -> bool;

    /// What must never be so, if it is so here.
    fn wrong(&self, state: &Self::State) -> Option<&'static str>;

    fn is_end(&self, state: &Self::State) -> bool;
}

/// What a walk found.
pub(super) enum Verdict<M: Model> {
    /// All states there are, and all is well in each.
    Sound(Vec<M::State>),
    /// What is wrong, and the steps that lead there.
    Broken(&'static str, Vec<M::Step>),
}

pub(super) const NO_END: &str = "no end can be reached any more";

/// A state's number; states are numbered in the order they are found.
type Number = u32;

struct Walk<M: Model> {
    states: Vec<M::State>,
    numbers: HashMap<M::State, Number, BuildHasherDefault<Mixer>>,
    /// How each was reached first; the beginnings by nothing.
    from: Vec<Option<(Number, M::Step)>>,
    /// For each state those from which it is reached by a step that can be relied on.
    back: Vec<Vec<Number>>,
}

pub(super) fn explore<M: Model>(model: &M) -> Verdict<M> {
    let mut walk: Walk<M> = Walk { states: vec![], numbers: HashMap::default(), from: vec![], back: vec![] };
    for state in model.beginnings() {
        walk.number(state, None);
    }
    let mut at = 0;
    while let Some(state) = walk.states.get(at).copied() {
        let here = Number::try_from(at).unwrap();
        if let Some(wrong) = model.wrong(&state) {
            return Verdict::Broken(wrong, walk.way_to(here));
        }
        for (step, next) in model.next(&state) {
            let there = walk.number(next, Some((here, step)));
            if model.can_be_relied_on(&step) {
                walk.back[there as usize].push(here);
            }
        }
        at += 1;
    }
    match walk.first_without_end(model) {
        None => Verdict::Sound(walk.states),
        Some(lost) => Verdict::Broken(NO_END, walk.way_to(lost)),
    }
}

impl<M: Model> Walk<M> {
    fn number(&mut self, state: M::State, from: Option<(Number, M::Step)>) -> Number {
        let fresh = Number::try_from(self.states.len()).unwrap();
        let number = *self.numbers.entry(state).or_insert(fresh);
        if number == fresh {
            self.states.push(state);
            self.from.push(from);
            self.back.push(vec![]);
        }
        number
    }

    fn way_to(&self, mut at: Number) -> Vec<M::Step> {
        let mut steps = vec![];
        while let Some((before, step)) = self.from[at as usize] {
            steps.push(step);
            at = before;
        }
        steps.reverse();
        steps
    }

    /// Goes back from all ends; what is not met on the way has lost them.
    fn first_without_end(&self, model: &M) -> Option<Number> {
        let mut is_met: Vec<bool> = self.states.iter().map(|state| model.is_end(state)).collect();
        let mut open: Vec<usize> = (0..is_met.len()).filter(|at| is_met[*at]).collect();
        while let Some(at) = open.pop() {
            for before in &self.back[at] {
                if !std::mem::replace(&mut is_met[*before as usize], true) {
                    open.push(*before as usize);
                }
            }
        }
        is_met.iter().position(|met| !met).map(|at| Number::try_from(at).unwrap())
    }
}

/// Mixes quickly; nobody hostile chooses these keys.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
