//! The person at the screen, as the house knows them: what waits for them, and their answers. A node's own token never answers;
//! this is a credential of a person, come by as every command does.

use super::super::listening::{self, Listener};
use super::models::{Event, Failed};
use crate::cli::{Actor, Place};
use crate::client::wire::{Remote, given_token};
use crate::client::{Client, Refused};
use crate::commands::{all_pages, approvals, path};
use anyhow::{Context, Result};
use axum::body::Body;
use protocol::approvals::Approval;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

const PATIENCE: Duration = Duration::from_secs(30);
const HOW: &str = "to answer here, give a token of yours (--token-file or LONGHOUSE_TOKEN; `longhouse token create`), \
                   or --data-dir of the server on this machine";

pub(super) struct Person {
    client: Client,
    actor: Actor,
    /// What waits and is long, by id.
    whole: Mutex<BTreeMap<String, Value>>,
}

impl Person {
    fn new(client: Client, actor: Actor) -> Self {
        Self { client, actor, whole: Mutex::default() }
    }

    /// `user`: for whom the node works; on the server's own machine that is who answers. Without a credential, how to have one.
    pub(super) async fn find(place: &Place, server: &str, user: &str) -> Result<Result<Self, String>> {
        if given_token(place)?.is_some() {
            let client = Client::Remote(Remote::new(server, place)?);
            return Ok(Ok(Self::new(client, Actor::default())));
        }
        let local = if place.server.is_none() { Client::to_server_of(place).await } else { None };
        let actor = Actor { user: Some(user.to_owned()), participant: None };
        Ok(local.map(|client| Self::new(client, actor)).ok_or_else(|| HOW.to_owned()))
    }

    /// Tells what waits, now and whenever that may have changed. The stream is a hint; the list is the truth. Never ends.
    pub(super) async fn follow(&self, tell: &UnboundedSender<Event>) -> Result<()> {
        listening::listen(&Following { person: self, tell }).await.map(|never| match never {})
    }

    async fn list(&self, tell: &UnboundedSender<Event>) -> Result<()> {
        let pages = all_pages(&self.client, &self.actor, &["my", "approvals"], &[("status", Some("pending"))]);
        let mut list = patiently(pages).await?;
        for asked in list.iter_mut().filter(|asked| asked["cut"] == true) {
            *asked = self.whole(asked).await?;
        }
        self.keep_only(&list);
        let list: Vec<Approval> =
            serde_json::from_value(list.into()).context("the house told of approvals in another way")?;
        let _ = tell.send(Event::Approvals(list));
        Ok(())
    }

    /// A list has only the beginning of what is long; what waits does not change, so it is asked for once.
    async fn whole(&self, asked: &Value) -> Result<Value> {
        let id = asked["id"].as_str().unwrap_or_default();
        let known = self.whole.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let found = patiently(self.client.get(&self.actor, &path(&["my", "approvals", id], &[]))).await;
        match found {
            // Answered meanwhile: its card stays without a yes until the next list is without it.
            Err(error) if error.downcast_ref::<Refused>().is_some() => Ok(asked.clone()),
            Err(error) => Err(error),
            Ok(found) => {
                self.whole.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), found.clone());
                Ok(found)
            }
        }
    }

    fn keep_only(&self, listed: &[Value]) {
        let ids: BTreeSet<&str> = listed.iter().filter_map(|asked| asked["id"].as_str()).collect();
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        whole.retain(|id, _| ids.contains(id.as_str()));
    }

    pub(super) async fn approve(&self, id: String, project: &str, digest: &str) -> Event {
        self.decide(id, project, "approve", &json!({"digest": digest})).await
    }

    pub(super) async fn reject(&self, id: String, project: &str, reason: Option<&str>) -> Event {
        self.decide(id, project, "reject", &json!({"reason": reason})).await
    }

    async fn decide(&self, id: String, project: &str, decision: &str, body: &Value) -> Event {
        let place = approvals::deciding(project, &id, decision);
        let answer = patiently(self.client.post(&self.actor, &place, body)).await;
        let outcome = answer.map(|answer| answer["status"].as_str().unwrap_or_default().to_owned());
        Event::Answered { id, outcome: outcome.map_err(|error| failed(&error)) }
    }

    /// What became of one that waits no longer.
    pub(super) async fn look_up(&self, id: &str) -> Event {
        let found = patiently(self.client.get(&self.actor, &path(&["my", "approvals", id], &[]))).await;
        match found.and_then(|found| Ok(serde_json::from_value(found)?)) {
            Ok(approval) => Event::Resolved(Box::new(approval)),
            Err(_) => Event::Note(format!("{id} waits no longer")),
        }
    }
}

struct Following<'a> {
    person: &'a Person,
    tell: &'a UnboundedSender<Event>,
}

impl Listener for Following<'_> {
    async fn open(&self) -> Result<Body> {
        patiently(self.person.client.stream(&self.person.actor, "/my/events", None)).await
    }

    async fn opened(&self) -> Result<()> {
        self.person.list(self.tell).await
    }

    async fn hear(&self, data: &str) -> Result<()> {
        if may_change_what_waits(data) { self.person.list(self.tell).await } else { Ok(()) }
    }

    fn lost(&self, why: Result<()>, _pause: Duration) -> Result<()> {
        if let Err(error) = why {
            let _ = self.tell.send(Event::NoApprovals(format!("approvals: {error:#}; trying again")));
        }
        Ok(())
    }
}

fn failed(error: &anyhow::Error) -> Failed {
    match error.downcast_ref::<Refused>() {
        Some(Refused { code, message, .. }) => {
            let is_over = matches!(code.as_str(), "ALREADY_DECIDED" | "EXPIRED" | "APPROVAL_NOT_FOUND");
            Failed { is_over, message: message.clone() }
        }
        None => Failed { is_over: false, message: format!("{error:#}") },
    }
}

fn may_change_what_waits(data: &str) -> bool {
    let data: Value = serde_json::from_str(data).unwrap_or_default();
    matches!(data["type"].as_str(), Some("TOOL_APPROVAL_REQUEST" | "TOOL_APPROVAL_RESOLVED" | "RESET"))
}

async fn patiently<T>(asked: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(PATIENCE, asked).await.context("the house did not answer in time")?
}
