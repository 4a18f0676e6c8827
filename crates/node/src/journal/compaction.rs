//! A journal that has grown large becomes small again while it is in use: what is still needed is written anew beside it, and takes
//! its place by a rename. Nothing is appended in between, and whichever of the two a crash leaves has every record that counts.

use super::{Call, Journal, NAME, lines};
use crate::directories;

impl Journal {
    /// To be called when a record is on disk: it stays acknowledged, whatever goes wrong here.
    pub(super) fn compact_if_large(&mut self, now_ms: i64) {
        if self.length_bytes < self.looked_through_from_bytes {
            return;
        }
        let kept = self.calls.values().filter(|call| call.is_kept(now_ms)).flat_map(Call::records);
        let Ok((chain, bytes)) = lines::written(kept) else { return };
        let kept_bytes = bytes.len() as u64;
        // Twice what is needed, so that a journal that is large with good reason is not looked through with every record.
        self.looked_through_from_bytes = self.limit_bytes.max(kept_bytes.saturating_mul(2));
        if self.length_bytes < self.looked_through_from_bytes {
            return;
        }
        let path = self.state.path().join(NAME);
        let file = match directories::prepare(&path, &bytes) {
            Ok(file) => file,
            Err(error) => {
                tracing::warn!(%error, "the journal could not be made smaller");
                self.looked_through_from_bytes = self.length_bytes.saturating_mul(2);
                return;
            }
        };
        // An error may leave either file under the name: what would be appended to one could be missing in the other.
        if let Err(error) = directories::put_in_place(&path) {
            tracing::error!(%error, "the journal could not be put in its place");
            self.stop(&error);
            return;
        }
        self.go_on_in(file, kept_bytes, chain, now_ms);
    }
}
