//! Decisions that stand for later calls.

use crate::rows::{Param, Row, columns, params};
use crate::sums;
use crate::{Error, Result, Tx};
use domain::ids::{AgentId, ApprovalId, NodeId, ProjectId, SessionId, StandingRuleId, UserId, WorkspaceId};
use domain::standing_rules::{Covers, Lasts, RulePlace, StandingRule};
use domain::times::Timestamp;

pub struct StandingRules<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

/// A statement that selects what `read` reads.
macro_rules! selected {
    ($rest:literal) => {
        concat!(
            "SELECT workspace, id, user_id, project, agent, node, tool, params, folder, session, until, approval,
                    created_at, sum
               FROM standing_rules ",
            $rest
        )
    };
}

fn read(mut row: Row) -> Result<(WorkspaceId, StandingRule)> {
    let (workspace, id) = (WorkspaceId::from_trusted(row.text()?), StandingRuleId::from_trusted(row.text()?));
    let user = UserId::from_trusted(row.text()?);
    let place = RulePlace {
        project: ProjectId::from_trusted(row.text()?),
        agent: AgentId::from_trusted(row.text()?),
        node: NodeId::from_trusted(row.text()?),
    };
    let tool = row.text()?;
    let covers = match (row.optional_text()?, row.optional_text()?) {
        (Some(params), None) => Covers::Call { params },
        (None, Some(folder)) => Covers::Folder { folder },
        _ => return Err(Error::BadRow("what a standing rule covers".into())),
    };
    let lasts = match (row.optional_text()?, row.optional_time()?) {
        (Some(session), None) => Lasts::Session(SessionId::from_trusted(session)),
        (None, Some(until)) => Lasts::Until(until),
        _ => return Err(Error::BadRow("how long a standing rule lasts".into())),
    };
    let (approval, created_at) = (ApprovalId::from_trusted(row.text()?), row.time()?);
    let rule = StandingRule { id, user, place, tool, covers, lasts, approval, created_at };
    sums::check(row.optional_integer()?, || sum(&workspace, &rule), "a standing rule")?;
    Ok((workspace, rule))
}

fn sum(workspace: &WorkspaceId, rule: &StandingRule) -> i64 {
    sums::of_row(&row(workspace, rule))
}

/// All columns but the sum, in the order of the table.
fn row<'a>(workspace: &'a WorkspaceId, rule: &'a StandingRule) -> [Param<'a>; 13] {
    let (call, folder) = match &rule.covers {
        Covers::Call { params } => (Some(params.as_str()), None),
        Covers::Folder { folder } => (None, Some(folder.as_str())),
    };
    let (session, until) = match &rule.lasts {
        Lasts::Session(session) => (Some(session.as_str()), None),
        Lasts::Until(until) => (None, Some(*until)),
    };
    columns![
        workspace.as_str(),
        rule.id.as_str(),
        rule.user.as_str(),
        rule.place.project.as_str(),
        rule.place.agent.as_str(),
        rule.place.node.as_str(),
        rule.tool.as_str(),
        call,
        folder,
        session,
        until,
        rule.approval.as_str(),
        rule.created_at,
    ]
}

impl StandingRules<'_> {
    pub async fn create(&mut self, rule: &StandingRule) -> Result<()> {
        let mut all = row(self.workspace, rule).to_vec();
        all.push(sum(self.workspace, rule).into());
        self.tx
            .execute(
                "INSERT INTO standing_rules (workspace, id, user_id, project, agent, node, tool, params, folder, session,
                                             until, approval, created_at, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                &all,
            )
            .await?;
        Ok(())
    }

    /// Those that may stand for a call of this tool by this agent.
    pub async fn of_tool(&mut self, project: &ProjectId, agent: &AgentId, tool: &str) -> Result<Vec<StandingRule>> {
        let rows = self
            .tx
            .query(
                selected!(
                    "WHERE workspace = $1 AND project = $2 AND agent = $3 AND tool = $4
                  ORDER BY id"
                ),
                params![self.workspace.as_str(), project.as_str(), agent.as_str(), tool],
            )
            .await?;
        rows.into_iter().map(|row| Ok(read(row)?.1)).collect()
    }

    pub async fn delete(&mut self, id: &StandingRuleId) -> Result<bool> {
        let deleted = self
            .tx
            .execute(
                "DELETE FROM standing_rules WHERE workspace = $1 AND id = $2",
                params![self.workspace.as_str(), id.as_str()],
            )
            .await?;
        Ok(deleted == 1)
    }

    /// Removes the rules that hold for a session that goes.
    pub async fn delete_of_session(&mut self, session: &SessionId) -> Result<u64> {
        self.tx
            .execute(
                "DELETE FROM standing_rules WHERE workspace = $1 AND session = $2",
                params![self.workspace.as_str(), session.as_str()],
            )
            .await
    }

    /// Removes the rules of an agent that goes.
    pub async fn delete_of_agent(&mut self, project: &ProjectId, agent: &AgentId) -> Result<u64> {
        self.tx
            .execute(
                "DELETE FROM standing_rules WHERE workspace = $1 AND project = $2 AND agent = $3",
                params![self.workspace.as_str(), project.as_str(), agent.as_str()],
            )
            .await
    }

    /// Removes the rules of a node that goes.
    pub async fn delete_of_node(&mut self, node: &NodeId) -> Result<u64> {
        self.tx
            .execute(
                "DELETE FROM standing_rules WHERE workspace = $1 AND node = $2",
                params![self.workspace.as_str(), node.as_str()],
            )
            .await
    }
}

/// Through the person: whose rules they are.
impl Tx {
    pub async fn standing_rules_of(&mut self, user: &UserId) -> Result<Vec<(WorkspaceId, StandingRule)>> {
        let rows = self.query(selected!("WHERE user_id = $1 ORDER BY workspace, id"), params![user.as_str()]).await?;
        rows.into_iter().map(read).collect()
    }

    /// Removes the rules of somebody who goes.
    pub async fn forget_standing_rules_of(&mut self, user: &UserId) -> Result<u64> {
        self.execute("DELETE FROM standing_rules WHERE user_id = $1", params![user.as_str()]).await
    }

    /// Removes rules whose time is over.
    pub async fn forget_standing_rules(&mut self, now: Timestamp) -> Result<u64> {
        self.execute("DELETE FROM standing_rules WHERE until IS NOT NULL AND until <= $1", params![now]).await
    }
}
