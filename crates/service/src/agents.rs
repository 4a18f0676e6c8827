//! Agents of a project.

use crate::paging::{Listed, Page};
use crate::projects::{self, ProjectRef};
use crate::tasks::transitions::{self, Mover};
use crate::{Ctx, Error, Result, idempotency, items, policy, worker_spaces};
use domain::Refusal;
use domain::agents::{self as rules, AGENTS_MOST, Agent, AgentChoice, AgentShape};
use domain::audit::AuditRecord;
use domain::callers::{Caller, Credential};
use domain::ids::{AgentId, ProjectId, WorkspaceId};
use domain::items::ItemScope;
use domain::platform_tools::WORKSPACE_PUBLISH;
use domain::policy::{may_have, may_publish_from, may_show};
use domain::projects::Project;
use domain::tasks::TaskStatus;
use domain::times::Timestamp;
use std::sync::Arc;
use store::{Operation, QueuedFor, Tx};

/// How a request names an agent: by its project and by id or name.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPath {
    pub project: ProjectRef,
    pub id_or_name: String,
}

/// An agent of that shape, new in its project.
pub(crate) fn made(project: &Project, id: AgentId, shape: AgentShape) -> Agent {
    Agent {
        workspace: project.workspace.clone(),
        project: project.id.clone(),
        id,
        name: shape.name,
        visibility: shape.visibility,
        audience: shape.audience,
        settings: shape.settings,
        created_by: project.created_by.clone(),
        created_at: project.created_at,
        updated_at: project.created_at,
    }
}

async fn find_in(tx: &mut Tx, project: &Project, id_or_name: &str) -> Result<Agent> {
    find_by_name(tx, &project.workspace, &project.id, id_or_name).await
}

/// Finds an agent of a project that whoever asks has been found to see.
pub(crate) async fn find_by_name(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    project: &ProjectId,
    id_or_name: &str,
) -> Result<Agent> {
    if id_or_name.contains('\0') {
        return Err(Refusal::agent_not_found().into());
    }
    let found = tx.scope(workspace).agents(project).find(id_or_name).await?;
    Ok(found.ok_or_else(Refusal::agent_not_found)?)
}

/// Finds an agent for somebody who uses it: a member of its workspace, or the bearer of its own token.
pub(crate) async fn find(tx: &mut Tx, caller: &Caller, path: &AgentPath) -> Result<Agent> {
    let project = projects::find(tx, caller, &path.project).await?;
    let found = find_in(tx, &project, &path.id_or_name).await?;
    match &caller.credential {
        Credential::Agent { agent, .. } if agent.id != found.id => Err(Refusal::agent_not_found().into()),
        _ => Ok(found),
    }
}

/// The agent that a token is for, as long as its user may use it.
pub(crate) async fn find_own(tx: &mut Tx, caller: &Caller) -> Result<Agent> {
    let Credential::Agent { agent, .. } = &caller.credential else {
        return Err(Refusal::forbidden("this needs a token that is for an agent").into());
    };
    if !tx.is_member(&caller.user, &agent.workspace).await? {
        return Err(Refusal::agent_not_found().into());
    }
    let found = tx.scope(&agent.workspace).agents(&agent.project).get(&agent.id).await?;
    Ok(found.ok_or_else(Refusal::agent_not_found)?)
}

async fn find_managed(tx: &mut Tx, caller: &Caller, path: &AgentPath) -> Result<Agent> {
    let project = projects::find_managed(tx, caller, &path.project).await?;
    find_in(tx, &project, &path.id_or_name).await
}

fn record(caller: &Caller, action: &'static str, agent: &Agent, at: Timestamp) -> AuditRecord {
    AuditRecord::new(caller, action, at)
        .with("project", agent.project.as_str())
        .with("agent", agent.id.as_str())
        .with("name", agent.name.as_str())
        .with("visibility", agent.visibility.as_str())
        .with("audience", agent.audience.as_str())
}

pub async fn create(ctx: &Ctx, project: ProjectRef, choice: AgentChoice) -> Result<Agent> {
    ctx.caller.require_person()?;
    let shape = AgentShape::create(choice)?;
    may_show(&ctx.caller.role, shape.audience)?;
    let id = AgentId::generated(ctx.house.unique());
    let operation = Create { caller: ctx.caller.clone(), project, id, shape, now: ctx.now() };
    idempotency::write(ctx, &WorkspaceId::personal(&ctx.caller.user), operation).await
}

struct Create {
    caller: Arc<Caller>,
    project: ProjectRef,
    id: AgentId,
    shape: AgentShape,
    now: Timestamp,
}

impl Operation for Create {
    type Output = Agent;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Agent> {
        let project = projects::find_managed(tx, &self.caller, &self.project).await?;
        may_have(&project, self.shape.visibility)?;
        tx.about(project.id.as_str());
        if tx.scope(&project.workspace).agents(&project.id).count().await? >= AGENTS_MOST {
            return Err(rules::too_many().into());
        }
        let agent = Agent {
            created_by: self.caller.user.clone(),
            created_at: self.now,
            updated_at: self.now,
            ..made(&project, self.id.clone(), self.shape.clone())
        };
        if !tx.scope(&project.workspace).agents(&project.id).create(&agent).await? {
            return Err(rules::exists().into());
        }
        tx.scope(&project.workspace).audit().append(record(&self.caller, "agent.create", &agent, self.now));
        Ok(agent)
    }
}

pub async fn get(ctx: &Ctx, path: AgentPath) -> Result<Agent> {
    ctx.caller.require_person()?;
    ctx.house.store().read(Get { caller: ctx.caller.clone(), path }).await
}

struct Get {
    caller: Arc<Caller>,
    path: AgentPath,
}

impl Operation for Get {
    type Output = Agent;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Agent> {
        find(tx, &self.caller, &self.path).await
    }
}

/// The agents of a project, oldest first.
pub async fn list(ctx: &Ctx, project: ProjectRef, page: Page) -> Result<Listed<Agent>> {
    ctx.caller.require_person()?;
    let limit = page.limit()?;
    let after = page.after(1)?.remove(0);
    let mut items = ctx.house.store().read(List { caller: ctx.caller.clone(), project }).await?;
    // A project has few: what comes before the page is read along.
    items.retain(|agent| agent.id.as_str() > after.as_str());
    Ok(Listed::cut(items, limit, |agent| vec![agent.id.as_str().to_owned()]))
}

struct List {
    caller: Arc<Caller>,
    project: ProjectRef,
}

impl Operation for List {
    type Output = Vec<Agent>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Agent>> {
        let project = projects::find(tx, &self.caller, &self.project).await?;
        Ok(tx.scope(&project.workspace).agents(&project.id).all().await?)
    }
}

pub async fn update(ctx: &Ctx, path: AgentPath, choice: AgentChoice) -> Result<Agent> {
    ctx.caller.require_person()?;
    let operation = Update { caller: ctx.caller.clone(), path, choice, now: ctx.now() };
    let agent = ctx.house.store().write(&WorkspaceId::personal(&ctx.caller.user), operation).await?;
    // It may be allowed more at once than before.
    if ctx.house.spaces().get(&agent.project).is_some() {
        let (workspace, project) = (agent.workspace.clone(), agent.project.clone());
        worker_spaces::wake_surely(&ctx.house, QueuedFor { workspace, project, agent: agent.id.clone() }).await;
    }
    Ok(agent)
}

struct Update {
    caller: Arc<Caller>,
    path: AgentPath,
    choice: AgentChoice,
    now: Timestamp,
}

impl Operation for Update {
    type Output = Agent;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Agent> {
        let project = projects::find_managed(tx, &self.caller, &self.path.project).await?;
        let before = find_in(tx, &project, &self.path.id_or_name).await?;
        let shape = AgentShape::of(&before).change(self.choice.clone())?;
        may_have(&project, shape.visibility)?;
        may_show(&self.caller.role, shape.audience)?;
        if shape.visibility != before.visibility && has_data(tx, &before).await? {
            return Err(rules::has_data().into());
        }
        let after = Agent {
            name: shape.name,
            visibility: shape.visibility,
            audience: shape.audience,
            settings: shape.settings,
            updated_at: self.now,
            ..before.clone()
        };
        if after.name != before.name
            && tx.scope(&after.workspace).agents(&after.project).find(&after.name).await?.is_some()
        {
            return Err(rules::exists().into());
        }
        tx.scope(&after.workspace).agents(&after.project).save(&after).await?;
        if after.visibility != before.visibility {
            // Whoever holds one was given it for another memory than the agent works on from now on.
            tx.revoke_agent_tokens(&after.id, self.now).await?;
        }
        // Whoever watches through it looks again whether they may.
        tx.rights_shrank();
        tx.agents_changed();
        tx.scope(&after.workspace).audit().append(record(&self.caller, "agent.update", &after, self.now));
        Ok(after)
    }
}

async fn has_data(tx: &mut Tx, agent: &Agent) -> Result<bool> {
    if tx.has_created_items(&agent.id).await? {
        return Ok(true);
    }
    Ok(tx.items(&ItemScope::of_agent(agent)).counters().await?.items > 0)
}

/// Removes an agent with its own items, its tokens and the answers kept about it. What it wrote elsewhere stays, and so
/// does the audit.
pub async fn delete(ctx: &Ctx, path: AgentPath) -> Result<()> {
    ctx.caller.require_person()?;
    let operation = Delete { caller: ctx.caller.clone(), path, now: ctx.now() };
    let (house, turn) = (ctx.house.clone(), WorkspaceId::personal(&ctx.caller.user));
    // On its own feet: its workers must hear of it, whether or not the caller still waits.
    let done = tokio::spawn(async move {
        let agent = house.store().write(&turn, operation).await?;
        worker_spaces::retire(&house, &agent.workspace, &agent.project, &agent.id);
        Ok(())
    });
    done.await.unwrap_or_else(|_| Err(store::Error::BadOperation("a deletion panicked").into()))
}

struct Delete {
    caller: Arc<Caller>,
    path: AgentPath,
    now: Timestamp,
}

impl Operation for Delete {
    type Output = Agent;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Agent> {
        let agent = find_managed(tx, &self.caller, &self.path).await?;
        for task in tx.scope(&agent.workspace).tasks().open_of_agent(&agent.id).await? {
            // What runs may finish for a while.
            if task.status != TaskStatus::Running {
                let (why, mover) = ("cancelled: its agent was deleted", Mover::Caller(&self.caller));
                transitions::cancel(tx, &agent.workspace, &task, why, mover, self.now).await?;
            }
        }
        remove(tx, &agent, self.now).await?;
        tx.scope(&agent.workspace).audit().append(record(&self.caller, "agent.delete", &agent, self.now));
        Ok(agent)
    }
}

/// Takes an agent away with everything that is only its own.
pub(crate) async fn remove(tx: &mut Tx, agent: &Agent, now: Timestamp) -> Result<()> {
    // It may have been shared before.
    items::remove_scope(tx, &ItemScope::of_agent(agent)).await?;
    tx.remove_publications_to(&agent.id).await?;
    tx.revoke_agent_tokens(&agent.id, now).await?;
    tx.forget_outcomes_of(agent.id.as_str()).await?;
    tx.scope(&agent.workspace).standing_rules().delete_of_agent(&agent.project, &agent.id).await?;
    tx.scope(&agent.workspace).agents(&agent.project).remove(&agent.id).await?;
    tx.rights_shrank();
    tx.agents_changed();
    Ok(())
}

/// A shared agent as somebody sees it who may publish to it.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedAgent {
    pub agent: Agent,
    /// Whether the caller may talk to it, too.
    pub is_member: bool,
}

/// The shared agents that the caller may see: of their own workspaces, and those shown to everyone.
pub async fn list_shared(ctx: &Ctx, page: Page) -> Result<Listed<SharedAgent>> {
    ctx.caller.require_person_or_agent()?;
    let limit = page.limit()?;
    let after = page.after(1)?.remove(0);
    let operation = ListShared { caller: ctx.caller.clone(), after, limit: limit + 1 };
    let items = ctx.house.store().read(operation).await?;
    Ok(Listed::cut(items, limit, |shared| vec![shared.agent.id.as_str().to_owned()]))
}

struct ListShared {
    caller: Arc<Caller>,
    after: String,
    limit: u64,
}

impl Operation for ListShared {
    type Output = Vec<SharedAgent>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<SharedAgent>> {
        // An agent that cannot publish has no use for whom its person could publish to.
        if matches!(self.caller.credential, Credential::Agent { .. }) {
            let agent = find_own(tx, &self.caller).await?;
            may_publish_from(&agent)?;
            policy::require_platform(&self.caller, &agent, WORKSPACE_PUBLISH)?;
        }
        let found = tx.shared_agents_page(&self.caller.user, &self.after, self.limit).await?;
        Ok(found.into_iter().map(|(agent, is_member)| SharedAgent { agent, is_member }).collect())
    }
}

/// The agent that the caller's token is for.
pub(crate) async fn get_own(ctx: &Ctx) -> Result<Agent> {
    ctx.house.store().read(Own { caller: ctx.caller.clone() }).await
}

struct Own {
    caller: Arc<Caller>,
}

impl Operation for Own {
    type Output = Agent;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Agent> {
        find_own(tx, &self.caller).await
    }
}
