//! The schema's history: append-only steps, each applied once, written for each engine.

use crate::{Error, Result};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

macro_rules! steps {
    ($($zeros:literal $version:literal $name:literal),* $(,)?) => {
        &[$(Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../migrations/sqlite/", $zeros, $version, "_", $name, ".sql")),
            postgres: include_str!(concat!("../migrations/postgres/", $zeros, $version, "_", $name, ".sql")),
        }),*]
    };
}

pub(crate) const MIGRATIONS: &[Migration] = steps![
    "000" 1 "identity", "000" 2 "shared_context", "000" 3 "record", "000" 4 "leases", "000" 5 "sums",
    "000" 6 "projects_and_items", "000" 7 "rules", "000" 8 "budgets", "000" 9 "talk_and_work", "00" 10 "tools",
    "00" 11 "settings_for_calls", "00" 12 "old_calls", "00" 13 "fewer_indexes", "00" 14 "gateway", "00" 15 "plugins",
    "00" 16 "notices", "00" 17 "open_calls",
];

/// What a database says about itself.
pub(crate) struct Applied {
    /// Version and checksum of each step, in order.
    pub(crate) steps: Vec<(i64, String)>,
    /// How the database is called in an error.
    pub(crate) place: String,
}

impl Applied {
    pub(crate) fn version(&self) -> i64 {
        self.steps.last().map_or(0, |(version, _)| *version)
    }

    /// Which of the known steps are still to be applied. A newer database, or one with another history, is refused.
    pub(crate) fn missing<'m>(
        &self,
        known: &'m [Migration],
        text: fn(&Migration) -> &'static str,
    ) -> Result<&'m [Migration]> {
        let newest = known.last().map_or(0, |step| step.version);
        if self.version() > newest {
            return Err(Error::NewerSchema { place: self.place.clone(), found: self.version(), known: newest });
        }
        let ours = self
            .steps
            .iter()
            .zip(known)
            .all(|((version, sum), step)| *version == step.version && *sum == checksum(text(step)));
        if ours && self.steps.len() <= known.len() {
            return Ok(&known[self.steps.len()..]);
        }
        let reason = "a migration that was applied is not the one this version has".to_owned();
        Err(Error::Foreign { place: self.place.clone(), reason })
    }
}

pub(crate) fn checksum(sql: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(sql.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_step_that_is_written_is_taken_on_both_engines() {
        for engine in ["sqlite", "postgres"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(engine);
            let mut written: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            written.sort();
            let taken: Vec<String> =
                MIGRATIONS.iter().map(|step| format!("{:04}_{}.sql", step.version, step.name)).collect();
            assert_eq!(written, taken, "{engine}");
        }
    }
}
