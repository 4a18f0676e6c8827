//! The simplest thing that could be right about items, publications, sessions and events, and who may know which marker.

use super::markers;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What is answered: JSON without times and new ids, or the code of a refusal.
pub(super) type Outcome = Result<Value, &'static str>;

struct Row {
    /// Tells a row from a later one under the same key.
    id: u64,
    value: String,
    version: u64,
    created_by: String,
    updated_by: String,
    on_behalf_of: String,
    /// Scope, key and version of the source.
    from: Option<(String, String, u64)>,
    /// When it was changed last, in steps of the model.
    place: u64,
}

pub(super) struct Publication {
    pub(super) id: String,
    pub(super) user: String,
    agent: String,
    /// Key and version of the source.
    source: (String, u64),
    pub(super) target: String,
    target_key: String,
    copy: (u64, u64),
}

/// An event, and who hears it.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) workspace: String,
    pub(super) project: Option<String>,
    /// The scope of the items, or the session.
    pub(super) of: String,
    pub(super) what: Value,
}

/// Who acts, on which scope, and where that is told.
pub(super) struct Acting {
    pub(super) agent: String,
    pub(super) user: String,
    pub(super) scope: String,
    pub(super) workspace: String,
    pub(super) project: String,
}

#[derive(Default)]
pub(super) struct Model {
    scopes: BTreeMap<String, BTreeMap<String, Row>>,
    /// The entries of each session: value and version.
    contexts: BTreeMap<String, BTreeMap<String, (String, u64)>>,
    pub(super) publications: Vec<Publication>,
    pub(super) told: Vec<Told>,
    /// The markers that may be shown to whoever works in a scope or a session.
    known: BTreeMap<String, BTreeSet<String>>,
    steps: u64,
}

impl Model {
    pub(super) fn knows(&self, scope: &str, marker: &str) -> bool {
        self.known.get(scope).is_some_and(|known| known.contains(marker))
    }

    pub(super) fn learn(&mut self, scope: &str, text: &str) {
        self.known.entry(scope.to_owned()).or_default().extend(markers::found(text));
    }

    fn row(&self, scope: &str, key: &str) -> Option<&Row> {
        self.scopes.get(scope)?.get(key)
    }

    pub(super) fn version(&self, scope: &str, key: &str) -> u64 {
        self.row(scope, key).map_or(0, |row| row.version)
    }

    pub(super) fn keys(&self, scope: &str) -> Vec<String> {
        self.scopes.get(scope).into_iter().flatten().map(|(key, _)| key.clone()).collect()
    }

    fn put(
        &mut self,
        acting: &Acting,
        kind: &str,
        key: &str,
        value: String,
        from: Option<(String, String, u64)>,
    ) -> u64 {
        self.steps += 1;
        let (steps, size) = (self.steps, value.len());
        let items = self.scopes.entry(acting.scope.clone()).or_default();
        let before = items.remove(key);
        let (id, created_by) =
            before.as_ref().map_or((steps, acting.agent.clone()), |row| (row.id, row.created_by.clone()));
        let from = from.or_else(|| before.as_ref().and_then(|row| row.from.clone()));
        let version = before.map_or(0, |row| row.version) + 1;
        let row = Row {
            id,
            value,
            version,
            created_by,
            updated_by: acting.agent.clone(),
            on_behalf_of: acting.user.clone(),
            from,
            place: steps,
        };
        items.insert(key.to_owned(), row);
        self.tell(acting, kind, key, version, size);
        version
    }

    fn tell(&mut self, acting: &Acting, kind: &str, key: &str, version: u64, size: usize) {
        let what = json!([kind, acting.scope, key, version, size, acting.agent, acting.user]);
        let (workspace, project) = (acting.workspace.clone(), Some(acting.project.clone()));
        self.told.push(Told { workspace, project, of: acting.scope.clone(), what });
    }

    pub(super) fn write(&mut self, acting: &Acting, key: &str, value: &str, expected: Option<u64>) -> Outcome {
        if expected.is_some_and(|expected| expected != self.version(&acting.scope, key)) {
            return Err("VERSION_CONFLICT");
        }
        self.learn(&acting.scope, key);
        self.learn(&acting.scope, value);
        let version = self.put(acting, "ITEM_WRITTEN", key, value.to_owned(), None);
        let row = &self.scopes[&acting.scope][key];
        Ok(json!({"key": key, "version": version, "size_bytes": value.len(), "created_by": row.created_by,
                  "updated_by": acting.agent}))
    }

    pub(super) fn delete(&mut self, acting: &Acting, key: &str) -> Outcome {
        let row = self.scopes.get_mut(&acting.scope).and_then(|items| items.remove(key)).ok_or("ITEM_NOT_FOUND")?;
        self.tell(acting, "ITEM_DELETED", key, row.version, 0);
        Ok(json!({"deleted": key, "previous_version": row.version}))
    }

    fn shown(key: &str, row: &Row) -> Value {
        let mut shown = json!({"key": key, "size_bytes": row.value.len(), "created_by": row.created_by,
                               "updated_by": row.updated_by, "version": row.version});
        if let Some((scope, source, version)) = &row.from {
            shown["published_from"] = json!({"scope": scope, "version": version});
            if source == key {
                shown["published_from"]["key"] = json!(key);
            }
        }
        shown
    }

    pub(super) fn read(&self, scope: &str, key: &str) -> Outcome {
        let row = self.row(scope, key).ok_or("ITEM_NOT_FOUND")?;
        let mut shown = Self::shown(key, row);
        shown["value"] = json!(row.value);
        shown["on_behalf_of"] = json!(row.on_behalf_of);
        Ok(shown)
    }

    pub(super) fn list(&self, scope: &str) -> Value {
        let mut rows: Vec<(&String, &Row)> = self.scopes.get(scope).into_iter().flatten().collect();
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.place));
        let items = rows.into_iter().map(|(key, row)| {
            let mut shown = Self::shown(key, row);
            shown["preview"] = json!(row.value.chars().take(100).collect::<String>());
            shown
        });
        json!({"items": items.collect::<Vec<_>>()})
    }

    /// `to` is who acts on the target's scope; that the target may be published to is known.
    pub(super) fn publish(
        &mut self,
        by: &Acting,
        to: &Acting,
        target: &str,
        keys: (&str, &str),
        (over, is_member): (bool, bool),
    ) -> Outcome {
        let (key, target_key) = keys;
        let source = self.row(&by.scope, key).ok_or("ITEM_NOT_FOUND")?;
        let (value, version) = (source.value.clone(), source.version);
        let overwritten = self.row(&to.scope, target_key).is_some();
        if overwritten && !over {
            return Err("ITEM_EXISTS");
        }
        let lies_there = self.row(&to.scope, target_key);
        let own = |row: &Row| row.from.as_ref().is_some_and(|(scope, ..)| *scope == by.scope);
        if !is_member && lies_there.is_some_and(|row| !own(row)) {
            return Err("FORBIDDEN");
        }
        // The value moves, and the name it gets; the name it had does not.
        self.learn(&to.scope, &value);
        self.learn(&to.scope, target_key);
        self.learn(&by.scope, target_key);
        let from = Some((by.scope.clone(), key.to_owned(), version));
        let copy_version = self.put(to, "ITEM_PUBLISHED", target_key, value, from);
        let row = self.scopes[&to.scope][target_key].id;
        self.publications.push(Publication {
            id: String::new(),
            user: by.user.clone(),
            agent: by.agent.clone(),
            source: (key.to_owned(), version),
            target: target.to_owned(),
            target_key: target_key.to_owned(),
            copy: (row, copy_version),
        });
        Ok(json!({"key": key, "target_agent_id": target, "target_key": target_key, "version": copy_version,
                  "overwritten": overwritten}))
    }

    fn state(&self, publication: &Publication) -> &'static str {
        let mut rows = self.scopes.values().flat_map(BTreeMap::values);
        match rows.find(|row| row.id == publication.copy.0) {
            Some(row) if row.version == publication.copy.1 => "unchanged",
            Some(_) => "changed",
            None => "gone",
        }
    }

    pub(super) fn published_by(&self, user: &str) -> Value {
        let items = self.publications.iter().filter(|publication| publication.user == user).map(|publication| {
            json!({"id": publication.id, "key": publication.source.0, "version": publication.source.1,
                   "agent_id": publication.agent, "target_agent_id": publication.target,
                   "target_key": publication.target_key, "target_version": publication.copy.1,
                   "state": self.state(publication)})
        });
        json!({"items": items.collect::<Vec<_>>(), "next_cursor": null})
    }

    /// `to` is who acts on the target's scope, if the target has one.
    pub(super) fn recall(&mut self, at: usize, user: &str, to: Option<Acting>) -> Outcome {
        if self.publications[at].user != user {
            return Err("PUBLICATION_NOT_FOUND");
        }
        let (true, Some(to)) = (self.state(&self.publications[at]) == "unchanged", to) else {
            return Err("PUBLICATION_CHANGED");
        };
        let publication = self.publications.remove(at);
        self.scopes.get_mut(&to.scope).and_then(|items| items.remove(&publication.target_key)).expect("a copy");
        let acting = Acting { agent: publication.agent, ..to };
        self.tell(&acting, "ITEM_RECALLED", &publication.target_key, publication.copy.1, 0);
        Ok(Value::Null)
    }

    pub(super) fn has_data(&self, agent: &str, shared: bool) -> bool {
        let made = self.scopes.values().flat_map(BTreeMap::values).any(|row| row.created_by == agent);
        let holds = self.scopes.get(&format!("agent-{agent}")).is_some_and(|items| !items.is_empty());
        made || (shared && holds)
    }

    /// An agent goes, with the scope it has or had.
    pub(super) fn remove_agent(&mut self, agent: &str) {
        self.publications.retain(|publication| publication.target != agent);
        let scope = format!("agent-{agent}");
        self.scopes.remove(&scope);
        self.told.retain(|told| told.of != scope);
    }

    pub(super) fn write_context(&mut self, session: &str, key: &str, value: &str) -> u64 {
        self.learn(session, key);
        self.learn(session, value);
        let entry = self.contexts.entry(session.to_owned()).or_default().entry(key.to_owned()).or_default();
        *entry = (value.to_owned(), entry.1 + 1);
        entry.1
    }

    /// Value and version.
    pub(super) fn context(&self, session: &str, key: &str) -> Option<&(String, u64)> {
        self.contexts.get(session)?.get(key)
    }

    pub(super) fn context_keys(&self, session: &str) -> Vec<String> {
        self.contexts.get(session).into_iter().flatten().map(|(key, _)| key.clone()).collect()
    }
}
