//! Projects: made with their starter agents, changed and deleted by their creator or an admin, used by every member of
//! their workspace.

pub(crate) mod home;

use crate::paging::{Listed, Page};
use crate::workspaces::{self, require_member};
use crate::{Ctx, Error, Result, agents, idempotency, nodes, rules, sessions, worker_spaces};
use domain::agents::{Agent, AgentShape, starter_pack};
use domain::audit::AuditRecord;
use domain::callers::{AgentRef, Caller, Credential, only_delivers, only_makes_calls};
use domain::ids::{AgentId, ProjectId, UserId, WorkspaceId};
use domain::nodes::Serves;
use domain::projects::{self as words, PROJECTS_MOST, Project, ProjectApproval, ProjectChange};
use domain::sessions::KeyConvention;
use domain::times::Timestamp;
use domain::{Code, Refusal, policy};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use store::{Operation, Tx};

/// How a request names a project: by id or name, and by workspace where a name alone is not enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProjectRef {
    pub id_or_name: String,
    pub workspace: Option<String>,
}

/// Finds the one project that is meant among those a user can see.
pub(crate) async fn find_seen_by(tx: &mut Tx, user: &UserId, reference: &ProjectRef) -> Result<Project> {
    if reference.id_or_name.contains('\0') {
        return Err(Refusal::project_not_found().into());
    }
    let workspace = reference.workspace.as_deref().map(|text| workspaces::named(text, user)).transpose();
    let workspace = workspace.map_err(|_| Refusal::project_not_found())?;
    let mut seen = tx.projects_seen_by(user, &reference.id_or_name, workspace.as_ref()).await?;
    if seen.len() > 1 {
        let message = "you can see several projects of that name: take the id, or say which `workspace`";
        return Err(Refusal::new(Code::AmbiguousProject, message).into());
    }
    Ok(seen.pop().ok_or_else(Refusal::project_not_found)?)
}

/// Finds a project for somebody who uses it: a person who can see it, or an agent of it.
pub(crate) async fn find(tx: &mut Tx, caller: &Caller, reference: &ProjectRef) -> Result<Project> {
    match &caller.credential {
        Credential::User | Credential::Operator => find_seen_by(tx, &caller.user, reference).await,
        Credential::Agent { agent, .. } => find_own(tx, &caller.user, agent, reference).await,
        Credential::Session { .. } => {
            Err(Refusal::forbidden("a session token reaches only its session's context, prompt and events").into())
        }
        Credential::Channel { .. } => Err(only_delivers().into()),
        Credential::Node { .. } => Err(only_makes_calls().into()),
    }
}

/// An agent's token knows one project, and of no other that its person can see.
async fn find_own(tx: &mut Tx, user: &UserId, agent: &AgentRef, reference: &ProjectRef) -> Result<Project> {
    let asked = reference.workspace.as_deref();
    if asked.is_some_and(|asked| workspaces::named(asked, user).ok().as_ref() != Some(&agent.workspace)) {
        return Err(Refusal::project_not_found().into());
    }
    let workspace = Some(agent.workspace.as_str().to_owned());
    let found = find_seen_by(tx, user, &ProjectRef { id_or_name: reference.id_or_name.clone(), workspace }).await?;
    if found.id == agent.project { Ok(found) } else { Err(Refusal::project_not_found().into()) }
}

/// Finds a project for a person who changes it.
pub(crate) async fn find_managed(tx: &mut Tx, caller: &Caller, reference: &ProjectRef) -> Result<Project> {
    let project = find(tx, caller, reference).await?;
    policy::may_manage(&project, &caller.user, &caller.role)?;
    Ok(project)
}

/// A project with its agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Staffed {
    pub project: Project,
    pub agents: Vec<Agent>,
}

impl Staffed {
    fn new(ctx: &Ctx, workspace: WorkspaceId, name: String, starters: [AgentShape; 4]) -> Self {
        let project = Project {
            workspace,
            id: ProjectId::generated(ctx.house.unique()),
            name,
            key_conventions: None,
            approval: ProjectApproval::default(),
            created_by: ctx.caller.user.clone(),
            created_at: ctx.now(),
        };
        let agents = starters.map(|shape| agents::made(&project, AgentId::generated(ctx.house.unique()), shape));
        Self { project, agents: agents.into() }
    }

    async fn put(&self, tx: &mut Tx, caller: &Caller) -> Result<()> {
        let Self { project, agents } = self;
        if !tx.scope(&project.workspace).projects().create(project).await? {
            return Err(words::exists().into());
        }
        for agent in agents {
            tx.scope(&project.workspace).agents(&project.id).create(agent).await?;
        }
        let record = record(caller, "project.create", project, project.created_at);
        tx.scope(&project.workspace).audit().append(record);
        Ok(())
    }
}

#[derive(Debug, Clone, Default)]
pub struct CreateProject {
    pub name: String,
    pub workspace: Option<String>,
    pub key_conventions: Option<Vec<KeyConvention>>,
    pub approval: ProjectApproval,
}

pub async fn create(ctx: &Ctx, input: CreateProject) -> Result<Staffed> {
    ctx.caller.require_person()?;
    words::check_name(&input.name)?;
    let key_conventions = input.key_conventions.map(words::check_key_conventions).transpose()?;
    let workspace = workspaces::named(input.workspace.as_deref().unwrap_or("personal"), &ctx.caller.user)?;
    let model = rules::in_force(&ctx.house).await?.workspace(&workspace).model;
    let mut staffed = Staffed::new(ctx, workspace.clone(), input.name, starter_pack(model.as_deref()));
    staffed.project.key_conventions = key_conventions;
    staffed.project.approval = input.approval;
    let operation = Create { caller: ctx.caller.clone(), staffed };
    let made = idempotency::write(ctx, &workspace, operation).await?;
    // Ready for use when this returns; the next who needs it would begin it else.
    worker_spaces::open(&ctx.house, &made.project.workspace, &made.project.id).await?;
    Ok(made)
}

struct Create {
    caller: Arc<Caller>,
    staffed: Staffed,
}

impl Operation for Create {
    type Output = Staffed;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Staffed> {
        let workspace = &self.staffed.project.workspace;
        require_member(tx, &self.caller.user, workspace).await?;
        if tx.scope(workspace).projects().count().await? >= PROJECTS_MOST {
            return Err(words::too_many().into());
        }
        self.staffed.put(tx, &self.caller).await?;
        Ok(self.staffed.clone())
    }
}

fn record(caller: &Caller, action: &'static str, project: &Project, at: Timestamp) -> AuditRecord {
    AuditRecord::new(caller, action, at)
        .with("project", project.id.as_str())
        .with("name", project.name.as_str())
        .with("approval", project.approval.as_str())
}

pub async fn get(ctx: &Ctx, reference: ProjectRef) -> Result<Staffed> {
    ctx.caller.require_person()?;
    ctx.house.store().read(Get { caller: ctx.caller.clone(), reference }).await
}

struct Get {
    caller: Arc<Caller>,
    reference: ProjectRef,
}

/// The bare project, without its agents.
pub(crate) struct Find {
    pub(crate) caller: Arc<Caller>,
    pub(crate) reference: ProjectRef,
}

impl Operation for Find {
    type Output = Project;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Project> {
        find(tx, &self.caller, &self.reference).await
    }
}

impl Operation for Get {
    type Output = Staffed;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Staffed> {
        let project = find(tx, &self.caller, &self.reference).await?;
        let agents = tx.scope(&project.workspace).agents(&project.id).all().await?;
        Ok(Staffed { project, agents })
    }
}

pub async fn list(ctx: &Ctx, workspace: Option<&str>, page: Page) -> Result<Listed<Staffed>> {
    ctx.caller.require_person()?;
    let limit = page.limit()?;
    let after = page.after(1)?.remove(0);
    let workspace = workspace.map(|text| workspaces::named(text, &ctx.caller.user)).transpose()?;
    let operation = List { user: ctx.caller.user.clone(), workspace, after, limit: limit + 1 };
    let items = ctx.house.store().scan(operation).await?;
    Ok(Listed::cut(items, limit, |staffed| vec![staffed.project.id.as_str().to_owned()]))
}

struct List {
    user: UserId,
    workspace: Option<WorkspaceId>,
    after: String,
    limit: u64,
}

impl Operation for List {
    type Output = Vec<Staffed>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Staffed>> {
        let projects = tx.projects_page(&self.user, self.workspace.as_ref(), &self.after, self.limit).await?;
        let Some(last) = projects.last() else { return Ok(Vec::new()) };
        let mut agents: HashMap<ProjectId, Vec<Agent>> = HashMap::new();
        for mut agent in tx.agents_of_projects(&self.user, &self.after, &last.id).await? {
            // A list tells of many agents; what each is told is long, and shown with the project or the agent alone.
            agent.settings.system_prompt = None;
            agents.entry(agent.project.clone()).or_default().push(agent);
        }
        let staffed = projects.into_iter().map(|project| {
            let agents = agents.remove(&project.id).unwrap_or_default();
            Staffed { project, agents }
        });
        Ok(staffed.collect())
    }
}

pub async fn update(ctx: &Ctx, reference: ProjectRef, change: ProjectChange) -> Result<Staffed> {
    ctx.caller.require_person()?;
    let turn = WorkspaceId::personal(&ctx.caller.user);
    let operation = Update { caller: ctx.caller.clone(), reference, change, now: ctx.now() };
    ctx.house.store().write(&turn, operation).await
}

struct Update {
    caller: Arc<Caller>,
    reference: ProjectRef,
    change: ProjectChange,
    now: Timestamp,
}

impl Operation for Update {
    type Output = Staffed;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Staffed> {
        let project = find_managed(tx, &self.caller, &self.reference).await?.change(self.change.clone())?;
        if tx.scope(&project.workspace).projects().is_name_taken(&project.name, &project.id).await? {
            return Err(words::exists().into());
        }
        tx.scope(&project.workspace).projects().save(&project).await?;
        tx.scope(&project.workspace).audit().append(record(&self.caller, "project.update", &project, self.now));
        let agents = tx.scope(&project.workspace).agents(&project.id).all().await?;
        Ok(Staffed { project, agents })
    }
}

/// Removes a project with its agents and sessions. The audit stays.
pub async fn delete(ctx: &Ctx, reference: ProjectRef) -> Result<()> {
    ctx.caller.require_person()?;
    let turn = WorkspaceId::personal(&ctx.caller.user);
    let (house, operation) = (ctx.house.clone(), Delete { caller: ctx.caller.clone(), reference, now: ctx.now() });
    // On its own feet: its workers must hear of it, whether or not the caller still waits.
    let done = tokio::spawn(async move {
        let id = house.store().write(&turn, operation).await?;
        worker_spaces::forget(&house, &id);
        Ok(())
    });
    done.await.unwrap_or_else(|_| Err(store::Error::BadOperation("a deletion panicked").into()))
}

struct Delete {
    caller: Arc<Caller>,
    reference: ProjectRef,
    now: Timestamp,
}

impl Operation for Delete {
    type Output = ProjectId;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<ProjectId> {
        let project = find_managed(tx, &self.caller, &self.reference).await?;
        if project.is_home() {
            return Err(Refusal::forbidden("the home project belongs to the workspace and stays").into());
        }
        remove(tx, &project.workspace, &project.id, self.now).await?;
        tx.scope(&project.workspace).audit().append(record(&self.caller, "project.delete", &project, self.now));
        Ok(project.id)
    }
}

/// Takes a project away with everything that is only its own.
pub(crate) async fn remove(tx: &mut Tx, workspace: &WorkspaceId, id: &ProjectId, now: Timestamp) -> Result<()> {
    for agent in tx.scope(workspace).agents(id).all().await? {
        agents::remove(tx, &agent, now).await?;
    }
    for (session, uid) in tx.scope(workspace).projects().sessions(id).await? {
        sessions::remove(tx, workspace, (&session, &uid), now).await?;
    }
    for node in tx.scope(workspace).nodes().all().await? {
        if node.serves == Serves::Project(id.clone()) {
            nodes::take_away(tx, &node, now).await?;
        }
    }
    tx.scope(workspace).approvals().delete_of_project(id).await?;
    tx.scope(workspace).tool_calls().delete_of_project(id).await?;
    tx.scope(workspace).projects().remove(id).await?;
    tx.forget_outcomes_of(id.as_str()).await?;
    // Open streams of the project end with the commit.
    tx.rights_shrank();
    tx.agents_changed();
    Ok(())
}
