//! A thorough look at the house: its pages, its audit chains, its folder.

use crate::data_dir::{DATABASE, SECRET, SOCKET};
use crate::health::{Check, Status, check};
use crate::plugins::{self, Standing};
use crate::{Ctx, Result, audit, budgets, rules, users, workspaces};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Everything that was looked at, good and bad.
pub async fn examine(ctx: &Ctx) -> Result<Vec<Check>> {
    ctx.caller.require_admin()?;
    let mut checks = check(&ctx.house).checks;
    checks.push(match ctx.house.store().check().await {
        Ok(detail) => good("pages", detail),
        Err(error) => bad("pages", error.to_string()),
    });
    let verdict = audit::verify(ctx).await?;
    checks.push(match verdict.fault {
        None => good("audit", format!("{} rows, every chain holds", verdict.rows)),
        Some(fault) => bad("audit", format!("{} at {}: {}", fault.workspace, fault.seq, fault.reason)),
    });
    checks.push(ledger(ctx).await?);
    checks.extend(configuration(ctx).await?);
    checks.extend(plugin_checks(ctx).await?);
    checks.extend(modes(ctx.house.data_path()));
    let exposed = ctx.house.data_dir().exposed().iter();
    checks.extend(exposed.map(|note| bad("exposed", format!("{note} when it was opened: consider a new secret"))));
    Ok(checks)
}

fn good(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, status: Status::Healthy, detail: detail.into() }
}

fn bad(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, status: Status::Unhealthy, detail: detail.into() }
}

fn degraded(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, status: Status::Degraded, detail: detail.into() }
}

/// Whether the sums of each day are those of its calls.
async fn ledger(ctx: &Ctx) -> Result<Check> {
    let wrong = ctx.house.store().scan(budgets::Miscounted).await?;
    Ok(match wrong.first() {
        None => good("ledger", "the sums of every day are those of its calls"),
        Some((workspace, day)) => bad("ledger", format!("{workspace} on {day}: the sums are not those of its calls")),
    })
}

/// What is wrong with the file, and which workspaces may spend without a limit.
async fn configuration(ctx: &Ctx) -> Result<Vec<Check>> {
    let report = rules::report(&ctx.house);
    let mut checks: Vec<Check> = report.problems.into_iter().map(|problem| bad("config", problem)).collect();
    checks.extend(report.warnings.into_iter().map(|warning| good("config", warning)));
    let known = rules::in_force(&ctx.house).await?;
    for person in ctx.house.store().scan(users::Everybody).await? {
        if !known.has_role(&person.user.role) {
            let (name, role) = (person.user.id.name(), person.user.role.as_str());
            checks.push(bad("roles", format!("`{name}` has the role `{role}`, which is not defined any more")));
        }
    }
    for workspace in ctx.house.store().scan(workspaces::Open).await? {
        let settings = workspace.settings();
        for gone in settings.skills.iter().flatten().filter(|name| !known.house.skills.contains_key(*name)) {
            checks.push(bad("skills", format!("workspace `{}` names the skill `{gone}`, which is gone", workspace.id)));
        }
        if !rules::has_price(&known.house, &settings) {
            checks.push(bad("prices", format!("the model of workspace `{}` has no known price", workspace.id)));
        }
        let limit = settings.budget.and_then(|budget| budget.daily);
        if limit.is_none() {
            checks.push(good("budget", format!("workspace `{}` has no daily budget: no limit", workspace.id)));
        }
    }
    Ok(checks)
}

/// Which plugins are away, and which of their tools wait for an admin.
async fn plugin_checks(ctx: &Ctx) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for plugin in plugins::list(ctx).await? {
        let name = &plugin.name;
        if let Some(why) = &plugin.listed.why {
            // The house does its work without it.
            checks.push(degraded("plugins", format!("`{name}` is away: {why}")));
        }
        let off: Vec<&str> = plugin
            .tools
            .iter()
            .filter(|tool| matches!(tool.standing, Standing::New | Standing::Changed))
            .map(|tool| tool.name.as_str())
            .collect();
        if !off.is_empty() {
            let detail = format!("`{name}`: off until an admin accepts them: {}", off.join(", "));
            checks.push(degraded("plugins", detail));
        }
    }
    Ok(checks)
}

/// Nobody but the owner may look into the folder or at what is in it.
fn modes(folder: &Path) -> Vec<Check> {
    let look = |name: &'static str, path: &Path| {
        let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
        let open_to_others = mode & 0o077 != 0;
        let detail = format!("{} has mode {mode:04o}", path.display());
        Some(if open_to_others { bad(name, format!("{detail}: others can reach it")) } else { good(name, detail) })
    };
    let files = [("secret_mode", SECRET), ("database_mode", DATABASE), ("socket_mode", SOCKET)];
    let mut checks: Vec<Check> = look("data_dir_mode", folder).into_iter().collect();
    checks.extend(files.into_iter().filter_map(|(name, file)| look(name, &folder.join(file))));
    checks
}
