//! Workspaces of several people, made in one line, and scopes that are nearly full.

use crate::world::World;
use domain::ids::{AgentId, ItemId, ProjectId, UserId, WorkspaceId};
use domain::items::{Item, ItemKey, ItemScope, NewValue, Stamp};
use domain::projects::{Project, ProjectApproval};
use domain::times::Timestamp;
use domain::workspaces::Source;
use store::{Operation, Tx};

impl World {
    /// A workspace with these members. They must be people of the house.
    pub async fn workspace(&self, name: &str, members: &[&str]) {
        let workspace = WorkspaceId::parse(name).expect("a name");
        let members = members.iter().map(|member| UserId::parse(member).expect("a user")).collect();
        let operation = Found { workspace: workspace.clone(), members, at: self.house.now() };
        self.house.store().write(&workspace, operation).await.expect("a workspace");
    }

    /// Takes somebody out of a workspace.
    pub async fn leave(&self, workspace: &str, member: &str) {
        let workspace = WorkspaceId::parse(workspace).expect("a name");
        let operation = Leave { workspace: workspace.clone(), member: UserId::parse(member).expect("a user") };
        self.house.store().write(&workspace, operation).await.expect("written");
    }

    /// Puts rules in force as if the configuration file said so.
    pub async fn declare(&self, declaration: domain::rules::Declaration) {
        service::rules::apply(&self.house, declaration, "longhouse.yaml").await.expect("accepted");
    }

    /// Puts so many items, `filling-0` and so on, among those of a person's private agents.
    pub async fn fill_items(&self, user: &str, count: u64) {
        let agent = AgentId::generated(self.house.unique());
        self.fill(UserId::parse(user).expect("a user"), agent, count).await;
    }

    /// The same for a shared agent, by its id.
    pub async fn fill_agent(&self, agent: &str, count: u64) {
        let agent = AgentId::parse(agent).expect("an agent");
        self.fill(UserId::parse("owner").expect("a user"), agent, count).await;
    }

    async fn fill(&self, user: UserId, agent: AgentId, count: u64) {
        let turn = WorkspaceId::personal(&user);
        let ids = (0..count).map(|_| ItemId::generated(self.house.unique())).collect();
        let operation = Fill { ids, stamp: Stamp { agent, user, at: self.house.now() } };
        self.house.store().write(&turn, operation).await.expect("filled");
    }

    /// Makes so many projects, `filling-0` and so on, without agents in a person's own workspace.
    pub async fn fill_projects(&self, user: &str, count: u64) {
        let user = UserId::parse(user).expect("a user");
        let workspace = WorkspaceId::personal(&user);
        let made = (0..count).map(|number| Project {
            workspace: workspace.clone(),
            id: ProjectId::generated(self.house.unique()),
            name: format!("filling-{number}"),
            key_conventions: None,
            approval: ProjectApproval::default(),
            created_by: user.clone(),
            created_at: self.house.now(),
        });
        let operation = FillProjects { projects: made.collect() };
        self.house.store().write(&workspace, operation).await.expect("filled");
    }
}

struct Found {
    workspace: WorkspaceId,
    members: Vec<UserId>,
    at: Timestamp,
}

impl Operation for Found {
    type Output = ();
    type Error = store::Error;

    async fn run(&self, tx: &mut Tx) -> store::Result<()> {
        tx.create_workspace(&self.workspace, Source::Admin, self.at).await?;
        for member in &self.members {
            tx.grant_member(&self.workspace, member, Source::Admin).await?;
        }
        tx.settle_members(Some(&self.workspace), None).await
    }
}

struct Leave {
    workspace: WorkspaceId,
    member: UserId,
}

impl Operation for Leave {
    type Output = ();
    type Error = store::Error;

    async fn run(&self, tx: &mut Tx) -> store::Result<()> {
        tx.withdraw_member(&self.workspace, &self.member, Source::Admin).await?;
        tx.settle_members(Some(&self.workspace), None).await?;
        tx.rights_shrank();
        Ok(())
    }
}

struct Fill {
    ids: Vec<ItemId>,
    stamp: Stamp,
}

impl Operation for Fill {
    type Output = ();
    type Error = store::Error;

    async fn run(&self, tx: &mut Tx) -> store::Result<()> {
        // An agent that does not exist stands for any private one.
        let agent = tx.agent_anywhere(&self.stamp.agent).await?;
        let scope =
            agent.map_or_else(|| ItemScope::of_user(&self.stamp.user), |agent| agent.item_scope(&self.stamp.user));
        let mut counters = tx.items(&scope).counters().await?;
        for (number, id) in self.ids.iter().enumerate() {
            let key = ItemKey::from_trusted(format!("filling-{number}"));
            let new = NewValue { id: id.clone(), key, value: "x".to_owned(), published_from: None };
            let item = Item::put(None, new, &mut counters, &self.stamp).expect("there is room");
            tx.items(&scope).put(&item).await?;
        }
        tx.items(&scope).save_counters(counters).await
    }
}

struct FillProjects {
    projects: Vec<Project>,
}

impl Operation for FillProjects {
    type Output = ();
    type Error = store::Error;

    async fn run(&self, tx: &mut Tx) -> store::Result<()> {
        for project in &self.projects {
            tx.scope(&project.workspace).projects().create(project).await?;
        }
        Ok(())
    }
}
