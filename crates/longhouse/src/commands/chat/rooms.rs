//! Where the conversation is: a session of a project, and the agent that is spoken to.

use super::super::{HOME, all_pages, path};
use super::listening::{Lost, PATIENCE, PAUSE};
use crate::cli::{Actor, Chat as Options};
use crate::client::{Client, Refused};
use crate::output::{cell, table};
use anyhow::{Context, Result, bail};
use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

const ANSWER_LATEST: Duration = Duration::from_secs(30);

pub(super) struct Room<'c> {
    client: &'c Client,
    actor: Actor,
    workspace: String,
    project: String,
    session: String,
    agent: Agent,
    /// Made here, and nothing was said in it.
    is_unused: bool,
    /// Where to read on in the history.
    cursor: Option<String>,
}

struct Agent {
    id: String,
    name: String,
}

/// What was taken in.
pub(super) struct Accepted {
    pub(super) message: String,
    pub(super) task: String,
}

impl<'c> Room<'c> {
    pub(super) async fn open(client: &'c Client, options: Options) -> Result<Self> {
        // A variable of the environment that is empty says nothing.
        let said = |text: &String| !text.is_empty();
        let (project, agent) = (options.project.filter(said), options.agent.filter(said));
        let actor = Actor::from(options.person);
        let workspace = options.workspace.as_deref();
        let session = match &options.session {
            Some(id) => find(client, &actor, id, workspace, project.as_deref()).await?,
            None => {
                let project = project.as_deref().unwrap_or(HOME);
                create(client, &actor, project, workspace).await?
            }
        };
        let text = |name: &str| session[name].as_str().map(str::to_owned);
        let mut room = Self {
            client,
            actor,
            workspace: text("workspace").context("the session has no workspace")?,
            project: text("project").context(
                "this session belongs to no project, so no agent can answer: `longhouse session create --project` makes \
                 one that does",
            )?,
            session: text("id").context("the session has no id")?,
            agent: Agent { id: String::new(), name: String::new() },
            is_unused: options.session.is_none(),
            cursor: None,
        };
        if let Err(error) = room.choose(agent.as_deref()).await {
            room.leave().await;
            return Err(error);
        }
        Ok(room)
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn agent_name(&self) -> &str {
        &self.agent.name
    }

    pub(super) fn is_unused(&self) -> bool {
        self.is_unused
    }

    fn in_session(&self, part: &str) -> String {
        path(&["sessions", &self.session, part], &[("workspace", Some(&self.workspace))])
    }

    /// A server that does not answer is not waited for.
    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        timeout(ANSWER_LATEST, self.client.call(&self.actor, method, path, body)).await.map_err(|_| Lost)?
    }

    /// The questions of this session that wait for an answer of whoever talks.
    pub(super) async fn waiting_approvals(&self) -> Result<Vec<String>> {
        let answer = self.ask(Method::GET, &path(&["my", "approvals"], &[("status", Some("pending"))]), None).await?;
        let asked = answer["items"].as_array().into_iter().flatten();
        Ok(asked.filter(|asked| asked["session"] == self.session.as_str()).map(|asked| cell(&asked["id"])).collect())
    }

    async fn agents(&self) -> Result<Vec<Value>> {
        let mut answer = self.ask(Method::GET, &path(&["my", "projects", &self.project, "agents"], &[]), None).await?;
        match answer["items"].take() {
            Value::Array(agents) => Ok(agents),
            _ => bail!("the server lists no agents"),
        }
    }

    /// The agent of that name or id; without one the first that the project got.
    async fn choose(&mut self, wanted: Option<&str>) -> Result<()> {
        let agents = self.agents().await?;
        let is_meant = |agent: &&Value| wanted.is_none_or(|wanted| agent["name"] == wanted || agent["id"] == wanted);
        let Some(found) = agents.iter().find(is_meant) else {
            let names: Vec<String> = agents.iter().map(|agent| cell(&agent["name"])).collect();
            match wanted {
                Some(wanted) if !names.is_empty() => bail!("there is no agent {wanted} here: {}", names.join(", ")),
                _ => bail!("this project has no agents: `longhouse agent create` makes one"),
            }
        };
        self.agent = Agent { id: cell(&found["id"]), name: cell(&found["name"]) };
        Ok(())
    }

    pub(super) async fn turn_to(&mut self, agent: &str) -> Result<()> {
        self.choose(Some(agent)).await
    }

    /// The agents, the one that is spoken to marked.
    pub(super) async fn listing(&self) -> Result<String> {
        let row = |agent: &Value| {
            let mark = if agent["id"] == self.agent.id.as_str() { "*" } else { "" };
            vec![mark.to_owned(), cell(&agent["name"]), cell(&agent["role"]), cell(&agent["model"])]
        };
        let rows: Vec<Vec<String>> = self.agents().await?.iter().map(row).collect();
        Ok(table(&["", "name", "role", "model"], &rows))
    }

    /// Another session of the same project.
    pub(super) async fn begin_anew(&mut self) -> Result<()> {
        let session = create(self.client, &self.actor, &self.project, None).await?;
        self.leave().await;
        self.session = cell(&session["id"]);
        (self.is_unused, self.cursor) = (true, None);
        Ok(())
    }

    /// Leaves no empty session behind.
    pub(super) async fn leave(&self) {
        if self.is_unused {
            let path = path(&["sessions", &self.session], &[("workspace", Some(&self.workspace))]);
            // It does no harm if it stays.
            let _ = self.ask(Method::DELETE, &path, None).await;
        }
    }

    pub(super) async fn stream(&self, after: Option<u64>) -> Result<Body> {
        self.client.stream(&self.actor, &self.in_session("events"), after).await
    }

    /// Has a message taken in. Where no answer comes it is sent again for a while: its key sees to it that it is said once.
    pub(super) async fn send(&mut self, text: &str) -> Result<Accepted> {
        let message = json!({"content": text, "target_agent": self.agent.id, "idempotency_key": self.unique()});
        // If no answer comes it may have been taken in all the same.
        self.is_unused = false;
        let deadline = Instant::now() + PATIENCE;
        let sent = loop {
            match self.ask(Method::POST, &self.in_session("messages"), Some(&message)).await {
                Err(error) if !error.is::<Refused>() && Instant::now() + PAUSE < deadline => sleep(PAUSE).await,
                sent => break sent?,
            }
        };
        let text = |name: &str| sent[name].as_str().map(str::to_owned).context("the server named no task");
        Ok(Accepted { message: text("message_id")?, task: text("task_id")? })
    }

    /// A key that no other message of this person has.
    fn unique(&self) -> String {
        format!("{}-{}-{}", self.session, std::process::id(), jiff::Timestamp::now().as_nanosecond())
    }

    pub(super) async fn task(&self, task: &str) -> Result<Value> {
        self.ask(Method::GET, &path(&["my", "projects", &self.project, "tasks", task], &[]), None).await
    }

    pub(super) async fn cancel(&self, task: &str) -> Result<Value> {
        let path = path(&["my", "projects", &self.project, "tasks", task, "cancel"], &[]);
        self.ask(Method::POST, &path, None).await
    }

    /// What the agent said in a task so far, step by step. Earlier pages of a long history are read once.
    pub(super) async fn steps(&mut self, task: &str) -> Result<Vec<Value>> {
        let mut steps = Vec::new();
        let mut cursor = self.cursor.clone();
        loop {
            let query =
                [("workspace", Some(self.workspace.as_str())), ("limit", Some("100")), ("cursor", cursor.as_deref())];
            let mut page = self.ask(Method::GET, &path(&["sessions", &self.session, "messages"], &query), None).await?;
            if let Some(found) = page["items"].as_array_mut() {
                steps.extend(found.drain(..).filter(|said| said["task_id"] == task && said["role"] == "assistant"));
            }
            let Some(next) = page["next_cursor"].as_str() else { return Ok(steps) };
            cursor = Some(next.to_owned());
            // A page that holds a part of this task is read again for its next step.
            if steps.is_empty() {
                self.cursor.clone_from(&cursor);
            }
        }
    }
}

async fn create(client: &Client, actor: &Actor, project: &str, workspace: Option<&str>) -> Result<Value> {
    let body = json!({"project": project, "workspace": workspace, "title": "chat"});
    client.post(actor, "/sessions", &body).await
}

/// An earlier session, which must be of the project that was named, if one was.
async fn find(
    client: &Client,
    actor: &Actor,
    id: &str,
    workspace: Option<&str>,
    project: Option<&str>,
) -> Result<Value> {
    let session = client.get(actor, &path(&["sessions", id], &[("workspace", workspace)])).await?;
    if let Some(project) = project {
        let projects = all_pages(client, actor, &["my", "projects"], &[("workspace", workspace)]).await?;
        let is_meant =
            |found: &Value| found["id"] == session["project"] && (found["id"] == project || found["name"] == project);
        if !projects.iter().any(is_meant) {
            bail!("the session {id} is not one of the project {project}: leave out --project, or --session");
        }
    }
    Ok(session)
}
