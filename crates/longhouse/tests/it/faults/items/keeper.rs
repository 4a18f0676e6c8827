//! One client of items: it writes and deletes its own, copies them to the shared agent, takes copies back, and knows what
//! may be found afterwards.

use crate::it::door::{Door, Gone};
use crate::it::oracle::{Effect, Entry, Found, Key, State, Tally, text_of};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::Random;

const SOURCES: usize = 3;
const COPIES: usize = 2;

/// The ways in: for a person, and for the private agent.
pub(super) struct Doors {
    pub(super) person: Door,
    pub(super) agent: Door,
    pub(super) board: String,
}

impl Doors {
    /// The private agent has a token of its own; the shared one is asked by the person.
    pub(super) fn tool(&self, agent: &str, tool: &str, request: &Value) -> Result<(u16, Value), Gone> {
        let door = if agent == "board" { &self.person } else { &self.agent };
        door.post(&format!("/my/projects/garden/agents/{agent}/tools/{tool}"), request)
    }

    /// Every publication of the person.
    pub(super) fn publications(&self) -> Vec<Value> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.person.get(&format!("/my/publications?limit=500{cursor}")).expect("a list");
            all.extend(page["items"].as_array().expect("items").clone());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return all,
            }
        }
    }
}

/// What was asked last and never answered.
enum Unheard {
    Publish { copy: usize, request: Value },
    Recall { id: String },
}

pub(super) struct Keeper {
    name: String,
    sources: Vec<Key>,
    copies: Vec<Key>,
    /// What is there, as long as everything was answered.
    source_states: Vec<State>,
    copy_states: Vec<State>,
    /// The publications that were acknowledged and not recalled, and the one behind each copy.
    published: BTreeSet<String>,
    latest: Vec<Option<String>>,
    unheard: Option<Unheard>,
    sent: u64,
    chance: Random,
    pub(super) publishes: u64,
    pub(super) tally: Tally,
}

impl Keeper {
    pub(super) fn new(number: usize) -> Self {
        Self {
            name: format!("k{number}"),
            sources: (0..SOURCES).map(|_| Key::default()).collect(),
            copies: (0..COPIES).map(|_| Key::default()).collect(),
            source_states: vec![None; SOURCES],
            copy_states: vec![None; COPIES],
            published: BTreeSet::new(),
            latest: vec![None; COPIES],
            unheard: None,
            sent: 0,
            chance: Random::new(number as u64 + 100),
            publishes: 0,
            tally: Tally::default(),
        }
    }

    fn source_key(&self, at: usize) -> String {
        format!("{} source {at}", self.name)
    }

    fn copy_key(&self, at: usize) -> String {
        format!("{} copy {at}", self.name)
    }

    /// One request and its answer.
    pub(super) fn step(&mut self, doors: &Doors) -> Result<(), Gone> {
        let (source, copy) = (self.chance.index(SOURCES), self.chance.index(COPIES));
        match self.chance.below(10) {
            0..4 => self.publish(doors, source, copy),
            4..6 => self.recall(doors, copy),
            6 => self.delete(doors, source),
            _ => self.write(doors, source),
        }
    }

    fn write(&mut self, doors: &Doors, at: usize) -> Result<(), Gone> {
        self.sent += 1;
        let number = self.sent;
        self.sources[at].begin(Effect::Write(number));
        let request = json!({"key": self.source_key(at), "value": text_of(&self.name, number)});
        let answer = good(doors.tool("agent_coder", "workspace_write", &request)?);
        let expected = self.source_states[at].map_or(0, |entry| entry.version) + 1;
        let state = Some(Entry { version: self.version(&answer, expected), number });
        self.sources[at].answered(state);
        self.source_states[at] = state;
        Ok(())
    }

    fn delete(&mut self, doors: &Doors, at: usize) -> Result<(), Gone> {
        if self.source_states[at].is_none() {
            return self.write(doors, at);
        }
        self.sources[at].begin(Effect::Delete);
        good(doors.tool("agent_coder", "workspace_delete", &json!({"key": self.source_key(at)}))?);
        self.tally.acknowledged += 1;
        self.sources[at].answered(None);
        self.source_states[at] = None;
        Ok(())
    }

    fn publish(&mut self, doors: &Doors, source: usize, copy: usize) -> Result<(), Gone> {
        let number = match (self.source_states[source], self.copy_states[copy]) {
            // A copy of what it is already could not be told from it.
            (Some(entry), before) if before.is_none_or(|before| before.number != entry.number) => entry.number,
            _ => return self.write(doors, source),
        };
        self.copies[copy].begin(Effect::Write(number));
        self.sent += 1;
        let request = json!({
            "key": self.source_key(source), "target_key": self.copy_key(copy), "target_agent_id": doors.board,
            "overwrite": true, "idempotency_key": format!("{}-{}", self.name, self.sent),
        });
        self.unheard = Some(Unheard::Publish { copy, request: request.clone() });
        let answer = good(doors.tool("agent_coder", "workspace_publish", &request)?);
        self.unheard = None;
        let expected = self.copy_states[copy].map_or(0, |entry| entry.version) + 1;
        let state = Some(Entry { version: self.version(&answer, expected), number });
        self.copies[copy].answered(state);
        self.copy_states[copy] = state;
        self.made(copy, &answer["publication_id"]);
        Ok(())
    }

    fn made(&mut self, copy: usize, id: &Value) {
        let id = id.as_str().expect("an id").to_owned();
        self.publishes += 1;
        self.published.insert(id.clone());
        self.latest[copy] = Some(id);
    }

    fn recall(&mut self, doors: &Doors, copy: usize) -> Result<(), Gone> {
        let Some(id) = self.latest[copy].clone() else { return self.write(doors, 0) };
        self.copies[copy].begin(Effect::Delete);
        self.unheard = Some(Unheard::Recall { id: id.clone() });
        let (status, answer) = doors.person.delete(&format!("/my/publications/{id}"))?;
        assert_eq!(status, 204, "{answer}");
        self.unheard = None;
        self.tally.acknowledged += 1;
        self.copies[copy].answered(None);
        self.copy_states[copy] = None;
        self.published.remove(&id);
        self.latest[copy] = None;
        Ok(())
    }

    /// The version says whether anything came between, or was lost.
    fn version(&mut self, answer: &Value, expected: u64) -> u64 {
        let version = answer["version"].as_u64().expect("a version");
        let note = format!("{}: answered with version {version} instead of {expected}", self.name);
        match version.cmp(&expected) {
            std::cmp::Ordering::Less => self.tally.lost(&note),
            std::cmp::Ordering::Greater => self.tally.doubled(&note),
            std::cmp::Ordering::Equal => {}
        }
        self.tally.acknowledged += 1;
        version
    }

    /// After a restart: compares everything with what is known, and goes on from there.
    pub(super) fn check(&mut self, doors: &Doors, listed: &[Value]) {
        let mut tally = std::mem::take(&mut self.tally);
        let read = |agent: &str, key: String| {
            found(&doors.tool(agent, "workspace_read", &json!({"key": key})).expect("an answer"))
        };
        for at in 0..SOURCES {
            let found = read("agent_coder", self.source_key(at));
            let state = tally.judge(&self.name, self.sent, &found, &self.sources[at].expected());
            self.sources[at].settle(state);
            self.source_states[at] = state;
        }
        for at in 0..COPIES {
            let found = read("board", self.copy_key(at));
            let state = tally.judge(&self.name, self.sent, &found, &self.copies[at].expected());
            self.copies[at].settle(state);
            self.copy_states[at] = state;
        }
        self.tally = tally;
        self.check_publications(listed);
        self.ask_again(doors);
    }

    /// Behind every copy there is one publication that can be recalled, and behind none there is none.
    fn check_publications(&mut self, listed: &[Value]) {
        let own: Vec<&Value> = listed.iter().filter(|one| text(one, "target_key").starts_with(&self.name)).collect();
        for at in 0..COPIES {
            let key = self.copy_key(at);
            let unchanged = own.iter().filter(|one| one["target_key"] == key && one["state"] == "unchanged");
            let behind: Vec<u64> = unchanged.clone().filter_map(|one| one["target_version"].as_u64()).collect();
            let copy: Vec<u64> = self.copy_states[at].map(|entry| entry.version).into_iter().collect();
            if behind != copy {
                self.tally.torn(&format!("{key}: a copy of version {copy:?} and publications of {behind:?}"));
            }
            self.latest[at] = unchanged.map(|one| text(one, "id").to_owned()).next();
        }
        let ids: BTreeSet<String> = own.iter().map(|one| text(one, "id").to_owned()).collect();
        for lost in self.published.difference(&ids) {
            let recalled = matches!(&self.unheard, Some(Unheard::Recall { id }) if id == lost);
            if !recalled {
                self.tally.lost(&format!("{}: publication {lost}", self.name));
            }
        }
        let more: Vec<&String> = ids.difference(&self.published).collect();
        let under_way = usize::from(matches!(self.unheard, Some(Unheard::Publish { .. })));
        if more.len() > under_way {
            self.tally.invented(&format!("{}: publications {more:?}", self.name));
        }
        self.published = ids;
    }

    /// What was never answered is sent again under its key and has one effect.
    fn ask_again(&mut self, doors: &Doors) {
        let Some(Unheard::Publish { copy, request }) = self.unheard.take() else { return };
        let (_, source) = (copy, &request["key"]);
        let at = (0..SOURCES).find(|at| *source == self.source_key(*at)).expect("a source");
        let number = self.source_states[at].expect("a source is not changed while it is published").number;
        let before = self.copy_states[copy];
        let took_effect = before.is_some_and(|entry| entry.number == number);
        let answer = good(doors.tool("agent_coder", "workspace_publish", &request).expect("an answer"));
        let expected = before.map_or(0, |entry| entry.version) + u64::from(!took_effect);
        let state = Some(Entry { version: self.version(&answer, expected), number });
        self.copies[copy].settle(state);
        self.copy_states[copy] = state;
        let id = text(&answer, "publication_id");
        if took_effect != self.published.contains(id) {
            self.tally.doubled(&format!("{}: publication {id} was made again", self.name));
        }
        self.made(copy, &answer["publication_id"]);
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().expect("text")
}

fn good((status, answer): (u16, Value)) -> Value {
    assert_eq!(status, 200, "{answer}");
    answer
}

fn found((status, answer): &(u16, Value)) -> Found {
    match (status, answer["version"].as_u64(), answer["value"].as_str()) {
        (200, Some(version), Some(text)) => Found::Value { version, text: text.to_owned() },
        (404, ..) => Found::Absent,
        _ => panic!("{status} {answer}"),
    }
}
