//! Sessions: made, archived and deleted by people, never by an agent's tool call.

use crate::paging::{Listed, Page};
use crate::projects::{self, ProjectRef, Staffed, home};
use crate::tasks::transitions::{self, Mover};
use crate::workspaces::{self, require_member};
use crate::{Ctx, Error, Result, agents, idempotency, policy, rules, shared_context, worker_spaces};
use domain::audit::AuditRecord;
use domain::callers::{AgentRef, Caller, Credential, only_delivers, only_makes_calls};
use domain::ids::{ProjectId, SessionId, UserId, WorkspaceId};
use domain::projects::HOME;
use domain::roles::Role;
use domain::rules::Rules;
use domain::sessions::{
    ContextCounters, KeyConvention, Session, SessionConfig, SessionConfigChoice, SessionState, check_title,
};
use domain::times::Timestamp;
use domain::tool_schemas::SHARED_CONTEXT;
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
            Credential::Agent { agent, .. } => agent.workspace.clone(),
            _ => WorkspaceId::personal(&caller.user),
        }
    }
}

/// Finds the one session of that id among those a user can see.
pub(crate) async fn find_seen_by(tx: &mut Tx, user: &UserId, reference: &SessionRef) -> Result<Session> {
    let mut seen = tx.sessions_seen_by(user, &reference.id).await?;
    if let Some(text) = &reference.workspace {
        let Ok(workspace) = workspaces::named(text, user) else { return Err(Refusal::session_not_found().into()) };
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
        tx.about(&session.uid);
    }
    found
}

/// Finds a session for somebody who acts in it: a person who can see it, or a token made for it.
pub(crate) async fn find(tx: &mut Tx, caller: &Caller, reference: &SessionRef) -> Result<Session> {
    match &caller.credential {
        Credential::User | Credential::Operator => find_seen_by(tx, &caller.user, reference).await,
        Credential::Session { workspace, session } => {
            find_only(tx, &caller.user, reference, workspace, Some(session)).await
        }
        Credential::Agent { .. } => {
            let found = find_place(tx, caller, reference).await?;
            policy::require_platform(caller, &agents::find_own(tx, caller).await?, SHARED_CONTEXT)?;
            Ok(found)
        }
        Credential::Channel { .. } => Err(only_delivers().into()),
        Credential::Node { .. } => Err(only_makes_calls().into()),
    }
}

/// Finds a session as the place where somebody is at work, whether or not they may use its shared context.
pub(crate) async fn find_place(tx: &mut Tx, caller: &Caller, reference: &SessionRef) -> Result<Session> {
    let Credential::Agent { agent, session } = &caller.credential else {
        return Box::pin(find(tx, caller, reference)).await;
    };
    let found = find_only(tx, &caller.user, reference, &agent.workspace, session.as_ref()).await?;
    if session.is_none() {
        may_take_part(&found, agent, &caller.user)?;
    }
    Ok(found)
}

/// Finds a session in the one workspace that a token is for, and only the one session if it is for one.
async fn find_only(
    tx: &mut Tx,
    user: &UserId,
    reference: &SessionRef,
    workspace: &WorkspaceId,
    only: Option<&SessionId>,
) -> Result<Session> {
    let elsewhere = reference
        .workspace
        .as_deref()
        .is_some_and(|asked| workspaces::named(asked, user).ok().as_ref() != Some(workspace));
    if elsewhere || only.is_some_and(|only| reference.id != *only) {
        return Err(Refusal::session_not_found().into());
    }
    let exact = SessionRef { id: reference.id.clone(), workspace: Some(workspace.as_str().to_owned()) };
    find_seen_by(tx, user, &exact).await
}

/// Which sessions an agent joins that was not sent into a certain one: of its own project, or of none. Where keys are
/// hidden from some, only for the session's creator, who alone hands out participants there.
fn may_take_part(session: &Session, agent: &AgentRef, user: &UserId) -> Result<()> {
    if session.project.as_ref().is_some_and(|project| *project != agent.project) {
        return Err(Refusal::session_not_found().into());
    }
    if session.config.acl && session.created_by != *user {
        let message = "in a session with access lists only its creator's agents take part";
        return Err(Refusal::forbidden(message).into());
    }
    Ok(())
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
    let operation = prepare(ctx, input).await?;
    idempotency::write(ctx, &WorkspaceId::personal(&ctx.caller.user), operation).await
}

/// The operation that makes a session, ready to be run by itself or within another one.
pub(crate) async fn prepare(ctx: &Ctx, input: CreateSession) -> Result<Create> {
    ctx.caller.require_person()?;
    let id = match &input.id {
        Some(text) => SessionId::choose(text)?,
        None => SessionId::generated(ctx.house.unique()),
    };
    if let Some(title) = &input.title {
        check_title(title)?;
    }
    let config = input.config.settle()?;
    let rules = rules::in_force(&ctx.house).await?;
    let place = Place::settle(ctx, &rules, input.project, input.workspace)?;
    let (caller, now, uid) = (ctx.caller.clone(), ctx.now(), ctx.house.unique().simple().to_string());
    Ok(Create { caller, now, id, uid, place, title: input.title, config, rules })
}

/// Where a new session belongs.
enum Place {
    Workspace(WorkspaceId),
    Project(ProjectRef),
    /// The workspace's own project, made if this is its first use.
    Home(Staffed),
}

impl Place {
    fn settle(ctx: &Ctx, rules: &Rules, project: Option<String>, workspace: Option<String>) -> Result<Self> {
        let user = &ctx.caller.user;
        match project {
            Some(name) if name == HOME => {
                let workspace = workspaces::named(workspace.as_deref().unwrap_or("personal"), user)?;
                Ok(Self::Home(home::blank(ctx, workspace, rules)))
            }
            Some(id_or_name) => Ok(Self::Project(ProjectRef { id_or_name, workspace })),
            None => Ok(Self::Workspace(workspaces::named(workspace.as_deref().unwrap_or("personal"), user)?)),
        }
    }

    /// The workspace, the project, and what the project says about keys.
    async fn open(&self, tx: &mut Tx, caller: &Caller) -> Result<Opened> {
        let project = match self {
            Self::Workspace(workspace) => {
                require_member(tx, &caller.user, workspace).await?;
                return Ok((workspace.clone(), None, None));
            }
            Self::Project(reference) => projects::find(tx, caller, reference).await?,
            Self::Home(blank) => home::open(tx, caller, blank).await?,
        };
        Ok((project.workspace, Some(project.id), project.key_conventions))
    }
}

type Opened = (WorkspaceId, Option<ProjectId>, Option<Vec<KeyConvention>>);

pub(crate) struct Create {
    caller: Arc<Caller>,
    now: Timestamp,
    id: SessionId,
    uid: String,
    place: Place,
    title: Option<String>,
    config: SessionConfig,
    /// What workspaces say about keys, where neither the session nor its project does.
    rules: Arc<Rules>,
}

impl Create {
    /// The id that the session will have.
    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }
}

impl Operation for Create {
    type Output = Session;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Session> {
        let (workspace, project, conventions) = self.place.open(tx, &self.caller).await?;
        let mut config = self.config.clone();
        config.key_conventions = config.key_conventions.or(conventions);
        if config.key_conventions.is_none() {
            config.key_conventions = self.rules.workspace(&workspace).key_conventions;
        }
        let session = Session {
            workspace: workspace.clone(),
            id: self.id.clone(),
            uid: self.uid.clone(),
            project,
            title: self.title.clone(),
            state: SessionState::Active,
            config,
            created_by: self.caller.user.clone(),
            created_at: self.now,
            archived_at: None,
            counters: ContextCounters::default(),
        };
        if !tx.scope(&workspace).sessions().create(&session).await? {
            return Err(Refusal::new(Code::SessionExists, "this workspace has a session of that id already").into());
        }
        let record = AuditRecord::new(&self.caller, "session.create", self.now).in_session(&self.id);
        tx.scope(&workspace).audit().append(record);
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
    let workspace = workspace.map(|text| workspaces::named(text, &ctx.caller.user)).transpose()?;
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
    let ctx = ctx.clone();
    // On its own feet: whoever works in it must hear of it, whether or not the caller still waits.
    let done = tokio::spawn(async move {
        let session: Session = idempotency::write(&ctx, &turn, operation).await?;
        ctx.house.bus().stop_session(&session.workspace, &session.id);
        if let Some(project) = &session.project {
            worker_spaces::end_if_unused(&ctx.house, &session.workspace, project).await?;
        }
        Ok(session)
    });
    done.await.unwrap_or_else(|_| Err(store::Error::BadOperation("archiving panicked").into()))
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
        self.end_tasks(tx, &mut session).await?;
        let session = Session { state: SessionState::Archived, archived_at: Some(self.now), ..session };
        tx.scope(&session.workspace).sessions().save(&session).await?;
        let record = AuditRecord::new(&self.caller, "session.archive", self.now).in_session(&session.id);
        tx.scope(&session.workspace).audit().append(record);
        Ok(session)
    }
}

impl Archive {
    async fn end_tasks(&self, tx: &mut Tx, session: &mut Session) -> Result<()> {
        let why = "cancelled: its session was archived";
        for before in tx.scope(&session.workspace).tasks().open_of_session(&session.id).await? {
            transitions::cancel_in(tx, session, &before, why, Mover::Caller(&self.caller), self.now).await?;
        }
        Ok(())
    }
}

/// Removes a session with everything in it. Its audit stays.
pub async fn delete(ctx: &Ctx, reference: SessionRef) -> Result<()> {
    ctx.caller.require_person()?;
    let turn = reference.turn(&ctx.caller);
    let operation = Delete { caller: ctx.caller.clone(), reference, now: ctx.now() };
    let house = ctx.house.clone();
    let done = tokio::spawn(async move {
        let (workspace, id) = house.store().write(&turn, operation).await?;
        house.bus().stop_session(&workspace, &id);
        Ok(())
    });
    done.await.unwrap_or_else(|_| Err(store::Error::BadOperation("a deletion panicked").into()))
}

struct Delete {
    caller: Arc<Caller>,
    reference: SessionRef,
    now: Timestamp,
}

impl Operation for Delete {
    type Output = (WorkspaceId, SessionId);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let session = find_managed(tx, &self.caller, &self.reference).await?;
        remove(tx, &session.workspace, (&session.id, &session.uid), self.now).await?;
        let record = AuditRecord::new(&self.caller, "session.delete", self.now).in_session(&session.id);
        tx.scope(&session.workspace).audit().append(record);
        Ok((session.workspace, session.id))
    }
}

/// Takes a session away with its tokens and the answers kept about it.
pub(crate) async fn remove(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    (id, uid): (&SessionId, &str),
    now: Timestamp,
) -> Result<()> {
    tx.scope(workspace).standing_rules().delete_of_session(id).await?;
    tx.scope(workspace).approvals().delete_of_session(id).await?;
    tx.scope(workspace).tool_calls().delete_of_session(id).await?;
    tx.scope(workspace).sessions().remove(id).await?;
    tx.revoke_session_tokens(workspace, id, now).await?;
    tx.forget_outcomes_of(uid).await?;
    // Tokens and open streams of this session end with the commit.
    tx.rights_shrank();
    Ok(())
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
            let workspace = workspaces::named(text, &caller.user).map_err(|_| Refusal::session_not_found())?;
            Ok(tx.scope(&workspace).sessions().get(&reference.id).await?.ok_or_else(Refusal::session_not_found)?)
        }
        None => one_of(tx.sessions_anywhere(&reference.id).await?),
    }
}
