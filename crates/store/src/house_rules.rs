//! What the configuration file says for the whole house, its skills, and the number that moves with every change of a
//! rule. Skills are long: they are read only by whoever holds the rules in memory.

use crate::rows::{from_json, params, to_json};
use crate::sums::{self, Sum};
use crate::{Result, Tx};
use domain::rules::HouseRules;
use domain::skills::Skill;
use domain::times::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// What the file said when it was last accepted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AcceptedRules {
    pub version: u64,
    /// The file; `None` if none was ever accepted.
    pub origin: Option<String>,
    /// Without the skills.
    pub rules: HouseRules,
    pub applied_at: Option<Timestamp>,
}

fn sum(document: &str) -> i64 {
    Sum::default().text(document).finish()
}

impl Tx {
    pub async fn rules_version(&mut self) -> Result<u64> {
        let row = self.query_one("SELECT version FROM house_rules WHERE id = 1", params![]).await?;
        row.map_or(Ok(0), |mut row| row.count())
    }

    pub async fn accepted_rules(&mut self) -> Result<AcceptedRules> {
        let row = self
            .query_one("SELECT version, origin, document, applied_at, sum FROM house_rules WHERE id = 1", params![])
            .await?;
        let Some(mut row) = row else { return Ok(AcceptedRules::default()) };
        let (version, origin, document) = (row.count()?, row.optional_text()?, row.text()?);
        let applied_at = row.optional_time()?;
        sums::check(row.optional_integer()?, || sum(&document), "the rules of the house")?;
        Ok(AcceptedRules { version, origin, rules: from_json(&document)?, applied_at })
    }

    pub async fn skills(&mut self) -> Result<BTreeMap<String, Skill>> {
        let rows = self.query("SELECT name, document, sum FROM skills ORDER BY name", params![]).await?;
        rows.into_iter()
            .map(|mut row| {
                let (name, document) = (row.text()?, row.text()?);
                sums::check(row.optional_integer()?, || sum(&document), "a skill")?;
                Ok((name, from_json(&document)?))
            })
            .collect()
    }

    pub async fn skill_names(&mut self) -> Result<BTreeSet<String>> {
        let rows = self.query("SELECT name FROM skills ORDER BY name", params![]).await?;
        rows.into_iter().map(|mut row| row.text()).collect()
    }

    /// Keeps these skills and no others.
    pub async fn save_skills(&mut self, skills: &BTreeMap<String, Skill>) -> Result<()> {
        self.execute("DELETE FROM skills", params![]).await?;
        for (name, skill) in skills {
            let document = to_json(skill)?;
            self.execute(
                "INSERT INTO skills (name, document, sum) VALUES ($1, $2, $3)",
                params![&**name, &*document, sum(&document)],
            )
            .await?;
        }
        Ok(())
    }

    /// Keeps what the file says, but for its skills. Whoever changes any rule calls `rules_changed` too.
    pub async fn save_rules(&mut self, origin: Option<&str>, rules: &HouseRules, at: Timestamp) -> Result<()> {
        let document = to_json(&HouseRules { skills: BTreeMap::new(), ..rules.clone() })?;
        self.execute(
            "INSERT INTO house_rules (id, version, origin, document, applied_at, sum) VALUES (1, 0, $1, $2, $3, $4)
             ON CONFLICT (id) DO UPDATE SET origin = $1, document = $2, applied_at = $3, sum = $4",
            params![origin, &*document, at, sum(&document)],
        )
        .await?;
        Ok(())
    }

    /// Everybody who holds rules in memory reads them anew, here at once and elsewhere within a second.
    pub async fn rules_changed(&mut self) -> Result<()> {
        let moved = self.execute("UPDATE house_rules SET version = version + 1 WHERE id = 1", params![]).await?;
        if moved == 0 {
            let empty = to_json(&HouseRules::default())?;
            self.execute(
                "INSERT INTO house_rules (id, version, document, sum) VALUES (1, 1, $1, $2)",
                params![&*empty, sum(&empty)],
            )
            .await?;
        }
        self.rights_shrank();
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use domain::rules::WorkerSpaceRules;

    #[test]
    fn rules_that_were_kept_before_there_were_providers_are_read() {
        let kept =
            r#"{"roles":{},"plugins":{},"models":{"routes":{"*":"here"},"prices":{}},"personal":{},"skills":{}}"#;
        let rules: HouseRules = from_json(kept).unwrap();
        assert_eq!(rules.models.routes["*"], "here");
        assert!(rules.models.providers.is_empty() && rules.alerts.webhook.is_none());
        assert_eq!(rules.worker_space, WorkerSpaceRules { idle_timeout_s: 1_800, cache_ttl_s: 300, queue_size: 100 });
        assert_eq!(from_json::<HouseRules>(&to_json(&rules).unwrap()).unwrap(), rules);
    }
}
