//! Sessions: made, archived and deleted by people, never by an agent's tool call.

use crate::paging::{Listed, Page};
use crate::{Ctx, Error, Result, idempotency, shared_context};
use domain::audit::AuditRecord;
use domain::callers::{Caller, Credential};
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::roles::Role;
use domain::sessions::{ContextCounters, Session, SessionConfig, SessionConfigChoice, SessionState, check_title};
use domain::times::Timestamp;
use domain::{Code, Refusal};
use std::sync::Arc;
use store::{Operation, Tx};

/// How a request names a session: by id, and by workspace where the id alone is not enough.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRef {
    pub id: SessionId,
    pub workspace: Option<String>,
}

impl SessionRef {
    pub fn parse(id: &str, workspace: Option<String>) -> Result<Self> {
        Ok(Self { id: SessionId::parse(id)?, workspace })
    }

    /// In whose turn a write to it waits; the true workspace is found in the transaction.
    pub(crate) fn turn(&self, caller: &Caller) -> WorkspaceId {
        match &caller.credential {
            Credential::Session { workspace, .. } => workspace.clone(),
            _ => WorkspaceId::personal(&caller.user),
        }
    }
}

/// `personal` is everybody's word for their own.
fn named_workspace(text: &str, user: &UserId) -> Result<WorkspaceId> {
    if text == "personal" { Ok(WorkspaceId::personal(user)) } else { Ok(WorkspaceId::parse(text)?) }
}

/// Finds the one session of that id among those a user can see.
pub(crate) async fn find_seen_by(tx: &mut Tx, user: &UserId, reference: &SessionRef) -> Result<Session> {
    let mut seen = tx.sessions_seen_by(user, &reference.id).await?;
    if let Some(text) = &reference.workspace {
        let Ok(workspace) = named_workspace(text, user) else { return Err(Refusal::session_not_found().into()) };
        seen.retain(|session| session.workspace == workspace);
        if seen.is_empty() && tx.is_member(user, &workspace).await? {
            seen.extend(tx.scope(&workspace).sessions().get(&reference.id).await?);
        }
    }
    let found = one_of(seen);
    noted(tx, found)
}

fn one_of(mut seen: Vec<Session>) -> Result<Session> {
    if seen.len() > 1 {
        let message = "you can see several sessions of that id: say which with `workspace`";
        return Err(Refusal::new(Code::AmbiguousSession, message).into());
    }
    Ok(seen.pop().ok_or_else(Refusal::session_not_found)?)
}

/// What is kept of an answer about a session goes when the session goes.
fn noted(tx: &mut Tx, found: Result<Session>) -> Result<Session> {
    if let Ok(session) = &found {
        tx.about_session(&session.uid);
    }
    found
}

/// Finds a session for somebody who acts in it: a person who can see it, or a token made for it.
pub(crate) async fn find(tx: &mut Tx, caller: &Caller, reference: &SessionRef) -> Result<Session> {
    match &caller.credential {
        Credential::User | Credential::Operator => find_seen_by(tx, &caller.user, reference).await,
        Credential::Session { workspace, session } => {
            let exact = SessionRef { id: session.clone(), workspace: Some(workspace.as_str().to_owned()) };
            let asked = reference.workspace.as_deref();
            let names_it = reference.id == *session && asked.is_none_or(|asked| asked == workspace.as_str());
            if names_it {
                find_seen_by(tx, &caller.user, &exact).await
            } else {
                Err(Refusal::session_not_found().into())
            }
        }
        Credential::Channel { .. } => Err(Refusal::forbidden("a channel token only delivers messages").into()),
    }
}

/// Finds a session for a person who manages it.
async fn find_managed(tx: &mut Tx, caller: &Caller, reference: &SessionRef) -> Result<Session> {
    let session = find(tx, caller, reference).await?;
    if session.created_by == caller.user || caller.role == Role::Admin {
        return Ok(session);
    }
    Err(Refusal::forbidden("only the session's creator or an admin may do this").into())
}

#[derive(Debug, Clone, Default)]
pub struct CreateSession {
    pub id: Option<String>,
    pub workspace: Option<String>,
    pub project: Option<String>,
    pub title: Option<String>,
    pub config: SessionConfigChoice,
}

pub async fn create(ctx: &Ctx, input: CreateSession) -> Result<Session> {
    ctx.caller.require_person()?;
    let id = match &input.id {
        Some(text) => SessionId::choose(text)?,
        None => SessionId::generated(ctx.house.unique()),
    };
    if let Some(title) = &input.title {
        check_title(title)?;
    }
    if input.project.is_some() {
        return Err(Refusal::new(Code::ProjectNotFound, "there is no project of that id that you can see").into());
    }
    let config = input.config.settle()?;
    let workspace = named_workspace(input.workspace.as_deref().unwrap_or("personal"), &ctx.caller.user)?;
    let (caller, now, uid) = (ctx.caller.clone(), ctx.now(), ctx.house.unique().simple().to_string());
    let operation = Create { caller, now, id, uid, workspace, title: input.title, config };
    idempotency::write(ctx, &WorkspaceId::personal(&ctx.caller.user), operation).await
}

struct Create {
    caller: Arc<Caller>,
    now: Timestamp,
    id: SessionId,
    uid: String,
    workspace: WorkspaceId,
    title: Option<String>,
    config: SessionConfig,
}

impl Operation for Create {
    type Output = Session;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Session> {
        if !tx.is_member(&self.caller.user, &self.workspace).await? {
            let message = "there is no workspace of that name that you can see";
            return Err(Refusal::new(Code::WorkspaceNotFound, message).into());
        }
        let session = Session {
            workspace: self.workspace.clone(),
            id: self.id.clone(),
            uid: self.uid.clone(),
            title: self.title.clone(),
            state: SessionState::Active,
            config: self.config.clone(),
            created_by: self.caller.user.clone(),
            created_at: self.now,
            archived_at: None,
            counters: ContextCounters::default(),
        };
        if !tx.scope(&self.workspace).sessions().create(&session).await? {
            return Err(Refusal::new(Code::SessionExists, "this workspace has a session of that id already").into());
        }
        let record = AuditRecord::new(&self.caller, "session.create", self.now).in_session(&self.id);
        tx.scope(&self.workspace).audit().append(record);
        Ok(session)
    }
}

pub async fn get(ctx: &Ctx, reference: SessionRef) -> Result<Session> {
    ctx.caller.require_person()?;
    let get = || Get { caller: ctx.caller.clone(), reference: reference.clone() };
    let session = ctx.house.store().read(get()).await?;
    if shared_context::expiry::settle(ctx, std::slice::from_ref(&session)).await? {
        return ctx.house.store().read(get()).await;
    }
    Ok(session)
}

pub(crate) struct Get {
    pub(crate) caller: Arc<Caller>,
    pub(crate) reference: SessionRef,
}

impl Operation for Get {
    type Output = Session;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Session> {
        find(tx, &self.caller, &self.reference).await
    }
}

pub async fn list(ctx: &Ctx, workspace: Option<&str>, page: Page) -> Result<Listed<Session>> {
    ctx.caller.require_person()?;
    let limit = page.limit()?;
    let mut after = page.after(2)?;
    let workspace = workspace.map(|text| named_workspace(text, &ctx.caller.user)).transpose()?;
    let (after_id, after_workspace) = (after.remove(1), after.remove(0));
    let user = ctx.caller.user.clone();
    let operation = List { user, workspace, after: (after_workspace, after_id), limit: limit + 1 };
    let mut items = ctx.house.store().read(operation.clone()).await?;
    if shared_context::expiry::settle(ctx, &items).await? {
        items = ctx.house.store().read(operation).await?;
    }
    let key = |session: &Session| vec![session.workspace.as_str().to_owned(), session.id.as_str().to_owned()];
    Ok(Listed::cut(items, limit, key))
}

#[derive(Clone)]
struct List {
    user: UserId,
    workspace: Option<WorkspaceId>,
    after: (String, String),
    limit: u64,
}

impl Operation for List {
    type Output = Vec<Session>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Session>> {
        let after = (self.after.0.as_str(), self.after.1.as_str());
        Ok(tx.sessions_page(&self.user, self.workspace.as_ref(), after, self.limit).await?)
    }
}

/// Makes a session immutable. It stays readable.
pub async fn archive(ctx: &Ctx, reference: SessionRef) -> Result<Session> {
    ctx.caller.require_person()?;
    let turn = reference.turn(&ctx.caller);
    let operation = Archive { caller: ctx.caller.clone(), reference, now: ctx.now() };
    idempotency::write(ctx, &turn, operation).await
}

struct Archive {
    caller: Arc<Caller>,
    reference: SessionRef,
    now: Timestamp,
}

impl Operation for Archive {
    type Output = Session;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Session> {
        let mut session = find_managed(tx, &self.caller, &self.reference).await?;
        session.require_active()?;
        // What is over by now goes first; what is left stands still from here on.
        shared_context::expiry::sweep(tx, &mut session, self.now).await?;
        let session = Session { state: SessionState::Archived, archived_at: Some(self.now), ..session };
        tx.scope(&session.workspace).sessions().save(&session).await?;
        let record = AuditRecord::new(&self.caller, "session.archive", self.now).in_session(&session.id);
        tx.scope(&session.workspace).audit().append(record);
        Ok(session)
    }
}

/// Removes a session with everything in it. Its audit stays.
pub async fn delete(ctx: &Ctx, reference: SessionRef) -> Result<()> {
    ctx.caller.require_person()?;
    let turn = reference.turn(&ctx.caller);
    let operation = Delete { caller: ctx.caller.clone(), reference, now: ctx.now() };
    ctx.house.store().write(&turn, operation).await
}

struct Delete {
    caller: Arc<Caller>,
    reference: SessionRef,
    now: Timestamp,
}

impl Operation for Delete {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let session = find_managed(tx, &self.caller, &self.reference).await?;
        tx.scope(&session.workspace).sessions().remove(&session.id).await?;
        tx.revoke_session_tokens(&session.workspace, &session.id, self.now).await?;
        tx.forget_outcomes_of(&session.uid).await?;
        // Tokens and open streams of this session end with the commit.
        tx.rights_shrank();
        let record = AuditRecord::new(&self.caller, "session.delete", self.now).in_session(&session.id);
        tx.scope(&session.workspace).audit().append(record);
        Ok(())
    }
}

/// Finds a session for its owner's or an admin's whole view, wherever it is.
pub(crate) async fn find_for_inspection(tx: &mut Tx, caller: &Caller, reference: &SessionRef) -> Result<Session> {
    if caller.role != Role::Admin {
        let session = find(tx, caller, reference).await?;
        let own = session.created_by == caller.user;
        return if own { Ok(session) } else { Err(Refusal::session_not_found().into()) };
    }
    match &reference.workspace {
        Some(text) => {
            let workspace = named_workspace(text, &caller.user).map_err(|_| Refusal::session_not_found())?;
            Ok(tx.scope(&workspace).sessions().get(&reference.id).await?.ok_or_else(Refusal::session_not_found)?)
        }
        None => one_of(tx.sessions_anywhere(&reference.id).await?),
    }
}
