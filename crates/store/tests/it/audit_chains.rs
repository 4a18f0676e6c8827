//! Whoever changes the audit log behind the house's back is found out.
// Tampering needs a connection that is not the store's.
#![allow(clippy::disallowed_methods)]

use super::operations::{House, open, record, workspace};
use domain::ids::SessionId;
use store::{ChainFault, ChainPosition, Error, Operation, Result, Tx};

const CHAINS: [&str; 3] = ["alpha", "beta", "gamma"];
const ROWS: u64 = 5;

struct Append(&'static str);

impl Operation for Append {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let session = SessionId::parse("ticket-42").expect("an id");
        let record = record("context.write").in_session(&session).with("key", "a").with("rev", 1);
        tx.scope(&workspace(self.0)).audit().append(record);
        Ok(())
    }
}

/// Goes through the chains in pages of `limit` rows.
struct Verify {
    limit: u64,
}

impl Operation for Verify {
    type Output = (u64, Option<ChainFault>);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let mut position = ChainPosition::default();
        loop {
            let (next, fault) = tx.verify_audit(position, self.limit).await?;
            if fault.is_some() {
                return Ok((next.rows, fault));
            }
            if next.done {
                return Ok((next.rows, tx.emptied_chains().await?.into_iter().next()));
            }
            position = next;
        }
    }
}

async fn house_with_chains() -> House {
    let house = open().await;
    for chain in CHAINS {
        for _ in 0..ROWS {
            house.store.write(&workspace("any"), Append(chain)).await.unwrap();
        }
    }
    house
}

/// What verification says after `sql` was run on the file.
async fn after(sql: &str) -> Option<(String, u64)> {
    let house = house_with_chains().await;
    house.store.close().await;
    let connection = rusqlite::Connection::open(house.path()).unwrap();
    connection.execute_batch(sql).unwrap();
    drop(connection);
    let house = house.again().await;
    let mut verdicts = Vec::new();
    for limit in [1, 2, 7, 10_000] {
        let (_, fault) = house.store.read(Verify { limit }).await.unwrap();
        verdicts.push(fault.map(|fault| (fault.workspace, fault.seq)));
    }
    verdicts.dedup();
    assert_eq!(verdicts.len(), 1, "{sql}: the size of a page makes no difference: {verdicts:?}");
    verdicts.remove(0)
}

#[tokio::test]
async fn untouched_chains_hold_whatever_the_size_of_a_page() {
    let house = house_with_chains().await;
    for limit in [1, 2, 5, 6, 15, 10_000] {
        assert_eq!(house.store.read(Verify { limit }).await.unwrap(), (ROWS * 3, None), "{limit}");
    }
    assert_eq!(after("SELECT 1").await, None);
}

#[tokio::test]
async fn an_empty_log_holds() {
    assert_eq!(open().await.store.read(Verify { limit: 10 }).await.unwrap(), (0, None));
}

#[tokio::test]
async fn a_changed_row_is_found_whatever_was_changed_in_it() {
    let columns = [
        ("at", "at + 1"),
        ("user_id", "'usr_mallory'"),
        ("participant", "'subagent:x'"),
        ("action", "'context.read'"),
        ("session", "'other'"),
        ("session", "NULL"),
        ("detail", "'{}'"),
        ("detail", "detail || ' '"),
        ("hash", "'00'"),
        // Text moved from one field to its neighbour.
        ("action", "action || session, session = ''"),
    ];
    for (column, value) in columns {
        for seq in [1, 3, 5] {
            let sql = format!("UPDATE audit SET {column} = {value} WHERE workspace = 'beta' AND seq = {seq}");
            assert_eq!(after(&sql).await, Some(("beta".into(), seq)), "{sql}");
        }
    }
}

#[tokio::test]
async fn a_missing_row_is_found_in_the_middle_at_the_start_and_at_the_end() {
    let cases =
        [("seq = 3", 4), ("seq = 1", 2), ("seq IN (2, 3, 4)", 5), ("seq = 5", 5), ("seq >= 3", 3), ("seq >= 2", 2)];
    for chain in CHAINS {
        for (which, found_at) in cases {
            let sql = format!("DELETE FROM audit WHERE workspace = '{chain}' AND {which}");
            assert_eq!(after(&sql).await, Some((chain.to_owned(), found_at)), "{sql}");
        }
    }
}

#[tokio::test]
async fn a_whole_chain_that_is_gone_is_found() {
    for chain in CHAINS {
        let found = after(&format!("DELETE FROM audit WHERE workspace = '{chain}'")).await;
        assert_eq!(found, Some((chain.to_owned(), 1)));
    }
    assert_eq!(after("DELETE FROM audit").await.map(|fault| fault.1), Some(1));
}

#[tokio::test]
async fn rows_that_were_moved_added_or_cut_loose_from_their_head_are_found() {
    let cases = [
        (
            "UPDATE audit SET seq = 9 WHERE workspace = 'beta' AND seq = 2;
          UPDATE audit SET seq = 2 WHERE workspace = 'beta' AND seq = 3;
          UPDATE audit SET seq = 3 WHERE workspace = 'beta' AND seq = 9",
            "beta",
        ),
        ("UPDATE audit SET workspace = 'delta' WHERE workspace = 'beta'", "delta"),
        (
            "INSERT INTO audit SELECT workspace, 6, at, user_id, participant, action, session, detail, hash
            FROM audit WHERE workspace = 'beta' AND seq = 5",
            "beta",
        ),
        ("DELETE FROM audit_heads WHERE workspace = 'beta'", "beta"),
        ("UPDATE audit_heads SET seq = 4 WHERE workspace = 'beta'", "beta"),
        ("UPDATE audit_heads SET hash = '00' WHERE workspace = 'gamma'", "gamma"),
    ];
    for (sql, chain) in cases {
        assert_eq!(after(sql).await.map(|fault| fault.0), Some(chain.to_owned()), "{sql}");
    }
}

#[tokio::test]
async fn no_session_and_an_empty_one_are_not_the_same() {
    let house = open().await;
    struct Plain;
    impl Operation for Plain {
        type Output = ();
        type Error = Error;
        async fn run(&self, tx: &mut Tx) -> Result<()> {
            tx.scope(&workspace("alpha")).audit().append(record("user.add"));
            Ok(())
        }
    }
    house.store.write(&workspace("any"), Plain).await.unwrap();
    house.store.close().await;
    let connection = rusqlite::Connection::open(house.path()).unwrap();
    connection.execute_batch("UPDATE audit SET session = ''").unwrap();
    drop(connection);
    let (_, fault) = house.again().await.store.read(Verify { limit: 10 }).await.unwrap();
    assert!(fault.is_some());
}

#[tokio::test]
async fn a_chain_goes_on_after_the_house_was_opened_again() {
    let house = house_with_chains().await.again().await;
    house.store.write(&workspace("any"), Append("beta")).await.unwrap();
    assert_eq!(house.store.read(Verify { limit: 4 }).await.unwrap(), (ROWS * 3 + 1, None));
}
