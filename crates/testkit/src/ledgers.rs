//! Looks into the ledger that no door gives, and damage to it.

use domain::events::StreamId;
use domain::ids::{ModelCallId, WorkspaceId};
use domain::ledger::{CallState, ModelCall};
use service::House;
use store::{Operation, Tx};

/// One call as the ledger has it.
pub async fn ledger_row(house: &House, workspace: &WorkspaceId, id: &ModelCallId) -> Option<ModelCall> {
    house.store().read(Row { workspace: workspace.clone(), id: id.clone() }).await.expect("read")
}

struct Row {
    workspace: WorkspaceId,
    id: ModelCallId,
}

impl Operation for Row {
    type Output = Option<ModelCall>;
    type Error = store::Error;

    async fn run(&self, tx: &mut Tx) -> store::Result<Option<ModelCall>> {
        tx.scope(&self.workspace).ledger().get(&self.id).await
    }
}

/// Leaves an open call with a sum that is not its own, as a fault of the disk would.
pub async fn damage_ledger_row(house: &House, workspace: &WorkspaceId, id: &ModelCallId) {
    let damage = Damage { workspace: workspace.clone(), id: id.clone() };
    house.store().write(workspace, damage).await.expect("written");
}

struct Damage {
    workspace: WorkspaceId,
    id: ModelCallId,
}

impl Operation for Damage {
    type Output = ();
    type Error = store::Error;

    async fn run(&self, tx: &mut Tx) -> store::Result<()> {
        let mut ledger = tx.scope(&self.workspace).ledger();
        let call = ledger.get(&self.id).await?.expect("a call");
        // The end of a call does not say who held it, but its sum does.
        let damaged = ModelCall { holder: "damaged".into(), ..call };
        assert!(ledger.close(&damaged, CallState::Open).await?, "it is open");
        assert!(matches!(ledger.get(&self.id).await, Err(store::Error::Damaged(_))));
        Ok(())
    }
}

/// Days whose sums are not those of their calls.
pub async fn miscounted_days(house: &House) -> Vec<(WorkspaceId, String)> {
    house.store().read(Miscounted).await.expect("read")
}

struct Miscounted;

impl Operation for Miscounted {
    type Output = Vec<(WorkspaceId, String)>;
    type Error = store::Error;

    async fn run(&self, tx: &mut Tx) -> store::Result<Self::Output> {
        tx.miscounted_days().await
    }
}

/// What a workspace as a whole was told: kinds and numbers, in order.
pub async fn workspace_events(house: &House, workspace: &WorkspaceId) -> Vec<(String, u64)> {
    house.store().read(Told { workspace: workspace.clone() }).await.expect("read")
}

struct Told {
    workspace: WorkspaceId,
}

impl Operation for Told {
    type Output = Vec<(String, u64)>;
    type Error = store::Error;

    async fn run(&self, tx: &mut Tx) -> store::Result<Self::Output> {
        let events = tx.scope(&self.workspace).events().after(&StreamId::of_workspace(), 0, 1_000).await?;
        Ok(events.into_iter().map(|event| (event.kind, event.stream_seq)).collect())
    }
}
