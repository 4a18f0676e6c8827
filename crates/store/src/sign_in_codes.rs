//! One-time codes that open the console. Only their hashes are stored.

use crate::rows::params;
use crate::{Result, Tx};
use domain::ids::UserId;
use domain::times::Timestamp;

impl Tx {
    pub async fn create_sign_in_code(&mut self, code_hash: &str, user: &UserId, expires_at: Timestamp) -> Result<()> {
        self.execute(
            "INSERT INTO sign_in_codes (code_hash, user_id, expires_at) VALUES ($1, $2, $3)",
            params![code_hash, user.as_str(), expires_at],
        )
        .await?;
        Ok(())
    }

    /// Uses a code up: of any number of callers exactly one gets the user.
    pub async fn redeem_sign_in_code(&mut self, code_hash: &str, now: Timestamp) -> Result<Option<UserId>> {
        let row = self
            .query_one(
                "UPDATE sign_in_codes SET used_at = $1
                  WHERE code_hash = $2 AND used_at IS NULL AND expires_at > $1 RETURNING user_id",
                params![now, code_hash],
            )
            .await?;
        row.map(|mut row| row.text().map(UserId::from_trusted)).transpose()
    }

    /// Whether anybody was ever given a code. Used ones are kept, so this stays true.
    pub async fn has_sign_in_codes(&mut self) -> Result<bool> {
        Ok(self.query_one("SELECT user_id FROM sign_in_codes LIMIT 1", params![]).await?.is_some())
    }
}
