//! The rules of the house: which are in force, and what became of the file they come from.

mod apply;

pub use apply::{Taken, apply, forget};

use crate::{Ctx, Error, House, Result, budgets};
use domain::Refusal;
use domain::budgets::has_limits;
use domain::prices::price_of;
use domain::rules::{HouseRules, Rules};
use domain::times::Timestamp;
use domain::workspaces::{WorkspaceSettings, personal_template};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use store::{Operation, Tx};

/// Another server of the same house may have changed a rule: that is noticed after so long at the latest.
const BELIEVED_MS: i64 = 1_000;

/// What one house holds in memory.
#[derive(Default)]
pub(crate) struct Holding {
    held: RwLock<Option<Held>>,
    loading: tokio::sync::Mutex<()>,
    report: Mutex<Report>,
}

#[derive(Clone)]
struct Held {
    rules: Arc<Rules>,
    version: u64,
    epoch: u64,
    looked_at: Timestamp,
}

/// What became of the configuration file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The file that this process reads.
    pub origin: Option<String>,
    /// Why the newest state of it was refused; what was accepted before stays in force.
    pub problems: Vec<String>,
    pub warnings: Vec<String>,
}

/// The rules as they are now.
pub async fn in_force(house: &House) -> Result<Arc<Rules>> {
    Ok(numbered(house).await?.0)
}

/// The same with the number that they have among all that were ever in force.
pub(crate) async fn numbered(house: &House) -> Result<(Arc<Rules>, u64)> {
    if let Some(fresh) = held(house).filter(|held| held.is_fresh(house)) {
        return Ok((fresh.rules, fresh.version));
    }
    // One reads them anew; the others wait for it, and find them here.
    let _turn = house.rules().loading.lock().await;
    let held = held(house);
    if let Some(fresh) = held.as_ref().filter(|held| held.is_fresh(house)) {
        return Ok((fresh.rules.clone(), fresh.version));
    }
    // Read before the rows are, so that a change in between is noticed the next time.
    let (now, epoch) = (house.now(), *house.store().rights().borrow());
    let known = held.as_ref().map(|held| held.version);
    let (version, fresh) = house.store().scan(Load { known }).await?;
    let rules = match (fresh, held) {
        (Some(fresh), _) => Arc::new(fresh),
        (None, Some(held)) => held.rules,
        (None, None) => Arc::default(),
    };
    let held = Held { rules: rules.clone(), version, epoch, looked_at: now };
    *house.rules().held.write().unwrap_or_else(PoisonError::into_inner) = Some(held);
    Ok((rules, version))
}

fn held(house: &House) -> Option<Held> {
    house.rules().held.read().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Held {
    fn is_fresh(&self, house: &House) -> bool {
        self.epoch == *house.store().rights().borrow() && house.now() < self.looked_at.plus_ms(BELIEVED_MS)
    }
}

/// Reads the rules, unless they are those that are known already.
struct Load {
    known: Option<u64>,
}

impl Operation for Load {
    type Output = (u64, Option<Rules>);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let version = tx.rules_version().await?;
        if self.known == Some(version) {
            return Ok((version, None));
        }
        let mut rules = read(tx).await?;
        rules.house.skills = tx.skills().await?;
        Ok((version, Some(rules)))
    }
}

/// The rules as this transaction sees them, without the texts of skills.
pub(crate) async fn read(tx: &mut Tx) -> Result<Rules> {
    let mut house: HouseRules = tx.accepted_rules().await?.rules;
    house.personal = personal_template(house.personal);
    let rows = tx.workspaces_with_settings().await?;
    let open = rows.into_iter().filter(store::WorkspaceRow::is_open);
    Ok(Rules { house, workspaces: open.map(|row| (row.id.clone(), row.settings())).collect() })
}

/// Whether everything that admins name in a workspace's settings is there, and whether its model has a price where the
/// settings as a whole set a limit.
pub(crate) async fn check_names(
    tx: &mut Tx,
    house: &HouseRules,
    said: &WorkspaceSettings,
    whole: &WorkspaceSettings,
) -> Result<()> {
    let known = tx.skill_names().await?;
    let skills = said.skills.as_deref().unwrap_or_default();
    if let Some(name) = skills.iter().find(|name| !known.contains(*name)) {
        let message = format!("there is no skill `{name}` in the skills folder, or the file did not load it");
        return Err(Refusal::invalid_field("skills", message).into());
    }
    if has_price(house, whole) { Ok(()) } else { Err(budgets::price_unknown().into()) }
}

/// Whether the model of a workspace has a price, where a limit needs one.
pub(crate) fn has_price(house: &HouseRules, settings: &WorkspaceSettings) -> bool {
    let is_limited = has_limits(settings.budget.as_ref());
    settings.model.as_ref().is_none_or(|model| !is_limited || price_of(&house.models, model).is_some())
}

/// Notes that a new state of the file was accepted.
pub fn note_accepted(house: &House, origin: &str, warnings: Vec<String>) {
    note(house, Report { origin: Some(origin.to_owned()), problems: Vec::new(), warnings });
}

/// Notes that a new state of the file was refused, and why.
pub fn note_refused(house: &House, problems: Vec<String>) {
    let before = report(house);
    note(house, Report { problems, ..before });
}

fn note(house: &House, report: Report) {
    *house.rules().report.lock().unwrap_or_else(PoisonError::into_inner) = report;
}

pub(crate) fn report(house: &House) -> Report {
    house.rules().report.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The file whose rules are in force, if any are.
pub async fn accepted_from(house: &House) -> Result<Option<String>> {
    Ok(house.store().read(Accepted).await?.origin)
}

/// What became of the file, and when the rules in force were accepted.
pub async fn look(ctx: &Ctx) -> Result<(Report, store::AcceptedRules)> {
    ctx.caller.require_admin()?;
    let accepted = ctx.house.store().read(Accepted).await?;
    Ok((report(&ctx.house), accepted))
}

struct Accepted;

impl Operation for Accepted {
    type Output = store::AcceptedRules;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<store::AcceptedRules> {
        Ok(tx.accepted_rules().await?)
    }
}
