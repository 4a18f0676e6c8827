//! The names of temporary files: nobody can guess the next one, and the node that made one knows it again after a crash.

use crate::directories::StateDirectory;
use crate::hashes::Hasher;
use crate::{Error, Result};
use data_encoding::HEXLOWER;

const PREFIX: &str = ".longhouse-";
const SUFFIX: &str = ".part";
const KEY: &str = "mark";

/// Makes and knows the names. A name carries the run that made it, chance, and a proof that only the holder of the key can make.
#[derive(Clone)]
pub struct Mark {
    key: [u8; 32],
    run: String,
}

impl Mark {
    /// The key in the state directory, made at the first time.
    pub fn open(state: &StateDirectory) -> Result<Self> {
        let key = match state.read(KEY)? {
            Some(bytes) => bytes.try_into().map_err(|_| Error::InvalidArgument("the key of the mark is damaged"))?,
            None => {
                let key: [u8; 32] = random()?;
                state.replace(KEY, &key)?;
                key
            }
        };
        Ok(Self { key, run: HEXLOWER.encode(&random::<8>()?) })
    }

    pub(crate) fn name(&self) -> Result<String> {
        let chance = HEXLOWER.encode(&random::<16>()?);
        let proof = self.proof(&self.run, &chance);
        Ok(format!("{PREFIX}{}-{chance}-{proof}{SUFFIX}", self.run))
    }

    /// Whether an earlier run of this node made the name. Its own names are in use.
    pub(crate) fn is_leftover(&self, name: &str) -> bool {
        let parts = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
        let parts: Vec<&str> = parts.map(|parts| parts.split('-').collect()).unwrap_or_default();
        matches!(parts[..], [run, chance, proof] if run != self.run && proof == self.proof(run, chance))
    }

    fn proof(&self, run: &str, chance: &str) -> String {
        // The key is hashed before and after, so that nobody can lengthen what was hashed.
        let mut hasher = Hasher::new();
        for part in [&self.key[..], run.as_bytes(), b"-", chance.as_bytes(), &self.key[..]] {
            hasher.take(part);
        }
        HEXLOWER.encode(&hasher.end().as_bytes()[..16])
    }
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| Error::KernelTooOld("it gives no random numbers"))?;
    Ok(bytes)
}
