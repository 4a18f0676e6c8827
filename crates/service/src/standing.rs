//! How long somebody who was let in may stay: until the credential ends or is revoked, or the house closes.

use crate::authority::{self, SignedIn};
use crate::{House, Result};
use domain::roles::Role;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The longest that a credential's end by the clock goes unnoticed where nothing else happens.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// Watches one caller's credential, for doors that keep something open.
pub struct Standing {
    house: House,
    signed_in: Arc<SignedIn>,
    rights: watch::Receiver<u64>,
}

impl Standing {
    pub fn new(house: &House, signed_in: Arc<SignedIn>) -> Self {
        let mut rights = house.authority().watch();
        // What changed between the sign-in and now counts as news.
        rights.mark_changed();
        Self { house: house.clone(), signed_in, rights }
    }

    /// Comes back when the caller has to leave.
    pub async fn over(&mut self) {
        loop {
            let expires = self.signed_in.expires_at;
            let left = expires.map(|at| u64::try_from(at.as_ms() - self.house.now().as_ms()).unwrap_or(0));
            if left == Some(0) {
                return;
            }
            let pause = left.map_or(LOOK_EVERY, |left| LOOK_EVERY.min(Duration::from_millis(left)));
            tokio::select! {
                changed = self.rights.changed() => {
                    if changed.is_err() || check(&self.house, &self.signed_in).await.is_err() {
                        return;
                    }
                }
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}

/// Somebody's rights shrank: is this caller still welcome, and in which role?
pub(crate) async fn check(house: &House, signed_in: &SignedIn) -> Result<Role> {
    if house.authority().is_closing() {
        return Err(store::Error::Unavailable("the house is closing".into()).into());
    }
    authority::check_again(house, signed_in).await
}
