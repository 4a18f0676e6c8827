//! Senders whom nobody knows yet, and the codes by which an admin may let them in. House rows. Only hashes are kept.

use crate::rows::{Row, params};
use crate::{Result, Tx};
use domain::times::Timestamp;
use domain::workspaces::Identity;

#[derive(Debug, Clone, PartialEq)]
pub struct SenderPairing {
    /// SHA-256 of the code, in hex.
    pub code_hash: String,
    pub identity: Identity,
    pub display_name: String,
    pub salt: String,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
}

fn read(mut row: Row) -> Result<SenderPairing> {
    let code_hash = row.text()?;
    let identity = Identity { channel: row.text()?, id: row.text()? };
    let (display_name, salt) = (row.text()?, row.text()?);
    Ok(SenderPairing { code_hash, identity, display_name, salt, asked_at: row.time()?, expires_at: row.time()? })
}

/// A statement that selects what `read` reads.
macro_rules! selected {
    ($rest:literal) => {
        concat!(
            "SELECT code_hash, channel, sender, display_name, salt, asked_at, expires_at FROM sender_pairings ",
            $rest
        )
    };
}

impl Tx {
    pub async fn sender_pairing(&mut self, code_hash: &str, now: Timestamp) -> Result<Option<SenderPairing>> {
        let row =
            self.query_one(selected!("WHERE code_hash = $1 AND expires_at > $2"), params![code_hash, now]).await?;
        row.map(read).transpose()
    }

    pub async fn sender_pairing_of(&mut self, sender: &Identity, now: Timestamp) -> Result<Option<SenderPairing>> {
        let row = self
            .query_one(
                selected!("WHERE channel = $1 AND sender = $2 AND expires_at > $3"),
                params![&*sender.channel, &*sender.id, now],
            )
            .await?;
        row.map(read).transpose()
    }

    /// Those that wait for an admin, oldest first.
    pub async fn sender_pairings(&mut self, now: Timestamp, limit: u64) -> Result<Vec<SenderPairing>> {
        let rows = self
            .query(selected!("WHERE expires_at > $1 ORDER BY expires_at, code_hash LIMIT $2"), params![now, limit])
            .await?;
        rows.into_iter().map(read).collect()
    }

    pub async fn count_sender_pairings(&mut self, now: Timestamp) -> Result<u64> {
        let row = self.query_one("SELECT COUNT(*) FROM sender_pairings WHERE expires_at > $1", params![now]).await?;
        row.map_or(Ok(0), |mut row| row.count())
    }

    pub async fn create_sender_pairing(&mut self, pairing: &SenderPairing) -> Result<()> {
        self.execute(
            "INSERT INTO sender_pairings (code_hash, channel, sender, display_name, salt, asked_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            params![
                &*pairing.code_hash,
                &*pairing.identity.channel,
                &*pairing.identity.id,
                &*pairing.display_name,
                &*pairing.salt,
                pairing.asked_at,
                pairing.expires_at,
            ],
        )
        .await?;
        Ok(())
    }

    /// Uses a code up; answers whether it was there.
    pub async fn remove_sender_pairing(&mut self, code_hash: &str) -> Result<bool> {
        let removed = self.execute("DELETE FROM sender_pairings WHERE code_hash = $1", params![code_hash]).await?;
        Ok(removed == 1)
    }

    pub async fn forget_sender_pairings(&mut self, now: Timestamp) -> Result<u64> {
        self.execute("DELETE FROM sender_pairings WHERE expires_at <= $1", params![now]).await
    }
}
