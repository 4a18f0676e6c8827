//! One workspace's rows inside a transaction.

use crate::Tx;
use crate::agents::Agents;
use crate::approvals::Approvals;
use crate::audit::Audit;
use crate::deliveries::Deliveries;
use crate::entries::Entries;
use crate::events::Events;
use crate::heard_messages::PlaceSessions;
use crate::history::History;
use crate::ledger::Ledger;
use crate::messages::Messages;
use crate::nodes::Nodes;
use crate::notices::Notices;
use crate::projects::Projects;
use crate::sessions::Sessions;
use crate::snapshots::Snapshots;
use crate::standing_rules::StandingRules;
use crate::tasks::Tasks;
use crate::tool_calls::ToolCalls;
use domain::ids::{ProjectId, SessionId, WorkspaceId};

/// Everything reached from here carries the workspace in its WHERE clause.
pub struct Scope<'t> {
    tx: &'t mut Tx,
    workspace: &'t WorkspaceId,
}

impl<'t> Scope<'t> {
    pub(crate) fn new(tx: &'t mut Tx, workspace: &'t WorkspaceId) -> Self {
        Self { tx, workspace }
    }

    pub fn sessions(self) -> Sessions<'t> {
        Sessions { tx: self.tx, workspace: self.workspace }
    }

    pub fn projects(self) -> Projects<'t> {
        Projects { tx: self.tx, workspace: self.workspace }
    }

    pub fn agents(self, project: &'t ProjectId) -> Agents<'t> {
        Agents { tx: self.tx, workspace: self.workspace, project }
    }

    pub fn entries(self, session: &'t SessionId) -> Entries<'t> {
        Entries { tx: self.tx, workspace: self.workspace, session }
    }

    pub fn history(self, session: &'t SessionId) -> History<'t> {
        History { tx: self.tx, workspace: self.workspace, session }
    }

    pub fn snapshots(self, session: &'t SessionId) -> Snapshots<'t> {
        Snapshots { tx: self.tx, workspace: self.workspace, session }
    }

    pub fn events(self) -> Events<'t> {
        Events { tx: self.tx, workspace: self.workspace }
    }

    pub fn messages(self, session: &'t SessionId) -> Messages<'t> {
        Messages { tx: self.tx, workspace: self.workspace, session }
    }

    pub fn nodes(self) -> Nodes<'t> {
        Nodes { tx: self.tx, workspace: self.workspace }
    }

    pub fn tool_calls(self) -> ToolCalls<'t> {
        ToolCalls { tx: self.tx, workspace: self.workspace }
    }

    pub fn approvals(self) -> Approvals<'t> {
        Approvals { tx: self.tx, workspace: self.workspace }
    }

    pub fn standing_rules(self) -> StandingRules<'t> {
        StandingRules { tx: self.tx, workspace: self.workspace }
    }

    pub fn tasks(self) -> Tasks<'t> {
        Tasks { tx: self.tx, workspace: self.workspace }
    }

    pub fn place_sessions(self) -> PlaceSessions<'t> {
        PlaceSessions { tx: self.tx, workspace: self.workspace }
    }

    pub fn deliveries(self) -> Deliveries<'t> {
        Deliveries { tx: self.tx, workspace: self.workspace }
    }

    pub fn notices(self) -> Notices<'t> {
        Notices { tx: self.tx, workspace: self.workspace }
    }

    pub fn ledger(self) -> Ledger<'t> {
        Ledger { tx: self.tx, workspace: self.workspace }
    }

    pub fn audit(self) -> Audit<'t> {
        Audit { tx: self.tx, workspace: self.workspace }
    }
}
