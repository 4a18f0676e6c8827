//! People of the house.

use crate::paging::{Listed, Page};
use crate::{Ctx, Error, House, Result, idempotency, items, nodes, projects, rules, sessions};
use domain::audit::{AuditRecord, HOUSE};
use domain::callers::{Caller, Credential};
use domain::ids::{UserId, WorkspaceId};
use domain::items::ItemScope;
use domain::participants::Participant;
use domain::roles::Role;
use domain::times::Timestamp;
use domain::users::{Membership, Person, User};
use domain::workspaces::Source;
use domain::{Code, Refusal};
use std::collections::BTreeSet;
use store::{Operation, Tx};

/// More than a house has people.
const EVERYBODY: u64 = 1_000_000;

/// The first user, made when the house is built.
pub const OWNER: &str = "owner";

pub(crate) fn house_chain() -> WorkspaceId {
    WorkspaceId::from_trusted(HOUSE.to_owned())
}

pub(crate) fn not_found() -> Refusal {
    Refusal::new(Code::UserNotFound, "there is no user of that name")
}

/// Makes the owner if nobody is there yet. Answers whether it did.
pub(crate) async fn ensure_owner(house: &House) -> Result<bool> {
    let id = UserId::parse(OWNER)?;
    let caller = Caller {
        participant: Participant::of_user(&id),
        user: id.clone(),
        role: Role::Admin,
        credential: Credential::Operator,
    };
    let now = house.now();
    let user = User { id, role: Role::Admin, created_at: now };
    let record = AuditRecord::new(&caller, "house.build", now);
    match house.store().write(&house_chain(), Add { user, restore: false, record }).await {
        Ok(_) => Ok(true),
        Err(Error::Refused(refusal)) if refusal.code == Code::UserExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// A house that has its rows elsewhere and finds nobody there was led to the wrong database.
pub(crate) async fn require_owner(house: &House) -> Result<()> {
    match house.store().read(Find { id: UserId::parse(OWNER)? }).await {
        Err(Error::Refused(_)) => {
            let message = "the database is empty, but this data directory belongs to a house: is \
                           LONGHOUSE_STORAGE_URL the right one? To begin anew, take a new data directory";
            Err(store::Error::File(std::io::Error::new(std::io::ErrorKind::NotFound, message)).into())
        }
        found => found.map(drop),
    }
}

/// Adds a person. Somebody who is out, because the file does not name them any more, comes back only on request.
pub async fn add(ctx: &Ctx, id: UserId, role: Role, restore: bool) -> Result<User> {
    ctx.caller.require_admin()?;
    let now = ctx.now();
    let record = ctx.audit("user.add", now).with("user", id.as_str()).with("role", role.as_str());
    idempotency::write(ctx, &house_chain(), Add { user: User { id, role, created_at: now }, restore, record }).await
}

struct Add {
    user: User,
    restore: bool,
    record: AuditRecord,
}

impl Operation for Add {
    type Output = User;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<User> {
        require_role(tx, &self.user.role).await?;
        let known = tx.known_user(&self.user.id).await?;
        let is_out = known.is_some_and(|known| !known.removed && !known.by_admin && known.file_role.is_none());
        if is_out && !self.restore {
            let message = "somebody of that name left with the configuration file, and all they have is kept: to let \
                           them in again with it, say `restore`";
            return Err(Refusal::new(Code::UserExists, message).into());
        }
        if !tx.create_user(&self.user).await? {
            let message = "that name is taken; the name of a removed user is never given again";
            return Err(Refusal::new(Code::UserExists, message).into());
        }
        if is_out {
            // What let them in before may be in other hands by now.
            tx.end_credentials_of(&self.user.id, self.user.created_at).await?;
            tx.rights_shrank();
        }
        let action = if is_out { "user.restore" } else { self.record.action };
        tx.scope(&house_chain()).audit().append(AuditRecord { action, ..self.record.clone() });
        Ok(tx.user(&self.user.id).await?.ok_or_else(not_found)?)
    }
}

pub async fn list(ctx: &Ctx, page: Page) -> Result<Listed<Person>> {
    ctx.caller.require_admin()?;
    let limit = page.limit()?;
    let after = page.after(1)?.remove(0);
    let items = ctx.house.store().read(List { after, limit: limit + 1 }).await?;
    Ok(Listed::cut(items, limit, |person| vec![person.user.id.as_str().to_owned()]))
}

struct List {
    after: String,
    limit: u64,
}

impl Operation for List {
    type Output = Vec<Person>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Person>> {
        Ok(tx.users_page(&self.after, self.limit).await?)
    }
}

/// Those who stay whatever the configuration file says: it may name them without defining them.
pub async fn made_by_admins(house: &House) -> Result<BTreeSet<UserId>> {
    let everybody = house.store().scan(Everybody).await?.into_iter();
    let stay = everybody.filter(|person| person.sources.contains(&Source::Admin));
    Ok(stay.map(|person| person.user.id).collect())
}

pub(crate) struct Everybody;

impl Operation for Everybody {
    type Output = Vec<Person>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Person>> {
        Ok(tx.users_page("", EVERYBODY).await?)
    }
}

pub(crate) struct Find {
    pub(crate) id: UserId,
}

impl Operation for Find {
    type Output = User;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<User> {
        Ok(tx.user(&self.id).await?.ok_or_else(not_found)?)
    }
}

pub async fn set_role(ctx: &Ctx, id: UserId, role: Role) -> Result<User> {
    ctx.caller.require_admin()?;
    let record = ctx.audit("user.role", ctx.now()).with("user", id.as_str()).with("role", role.as_str());
    ctx.house.store().write(&house_chain(), SetRole { id, role, record }).await
}

struct SetRole {
    id: UserId,
    role: Role,
    record: AuditRecord,
}

impl Operation for SetRole {
    type Output = User;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<User> {
        let user = tx.user(&self.id).await?.ok_or_else(not_found)?;
        require_not_of_file(tx, &self.id).await?;
        require_role(tx, &self.role).await?;
        if self.role != Role::Admin {
            keep_an_admin(tx, &user).await?;
        }
        tx.set_role(&self.id, &self.role).await?;
        tx.rights_shrank();
        tx.scope(&house_chain()).audit().append(self.record.clone());
        Ok(User { role: self.role.clone(), ..user })
    }
}

/// What the file says of somebody is changed in the file.
async fn require_not_of_file(tx: &mut Tx, id: &UserId) -> Result<()> {
    match tx.known_user(id).await?.and_then(|known| known.file_role) {
        None => Ok(()),
        Some(_) => Err(domain::workspaces::defined_in_file("users").into()),
    }
}

/// Those that are built in need no look at the rules: a house must open though they are damaged.
async fn require_role(tx: &mut Tx, role: &Role) -> Result<()> {
    if role.is_built_in() || rules::read(tx).await?.has_role(role) {
        return Ok(());
    }
    Err(domain::roles::unknown().into())
}

async fn keep_an_admin(tx: &mut Tx, user: &User) -> Result<()> {
    if user.role == Role::Admin && !tx.has_other_admin(Some(&user.id)).await? {
        return Err(Refusal::forbidden("this is the last admin: make another one first").into());
    }
    Ok(())
}

/// Takes a user out of the house with everything that was only theirs.
pub async fn remove(ctx: &Ctx, id: UserId) -> Result<()> {
    ctx.caller.require_admin()?;
    let now = ctx.now();
    let record = ctx.audit("user.remove", now).with("user", id.as_str());
    // In the line of what is removed: there it waits for the user's own writes instead of fighting them.
    ctx.house.store().write(&WorkspaceId::personal(&id), Remove { id: id.clone(), now, record }).await
}

struct Remove {
    id: UserId,
    now: Timestamp,
    record: AuditRecord,
}

impl Operation for Remove {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        // Also somebody who is out, because the file does not name them any more.
        tx.known_user(&self.id).await?.filter(|known| !known.removed).ok_or_else(not_found)?;
        if self.id.name() == OWNER {
            return Err(Refusal::forbidden("the owner stays: the house's own machine acts in this name").into());
        }
        require_not_of_file(tx, &self.id).await?;
        if let Some(user) = tx.user(&self.id).await? {
            keep_an_admin(tx, &user).await?;
        }
        let personal = WorkspaceId::personal(&self.id);
        for project in tx.scope(&personal).projects().ids().await? {
            projects::remove(tx, &personal, &project, self.now).await?;
        }
        for (session, uid) in tx.sessions_of(&personal).await? {
            sessions::remove(tx, &personal, (&session, &uid), self.now).await?;
        }
        items::remove_scope(tx, &ItemScope::of_user(&self.id)).await?;
        tx.remove_publications_of(&self.id).await?;
        for node in tx.nodes_of(&self.id).await? {
            nodes::take_away(tx, &node, self.now).await?;
        }
        tx.forget_standing_rules_of(&self.id).await?;
        tx.remove_user(&self.id, self.now).await?;
        tx.rights_shrank();
        tx.scope(&house_chain()).audit().append(self.record.clone());
        Ok(())
    }
}

/// The caller's own workspaces.
pub async fn memberships(ctx: &Ctx) -> Result<Vec<Membership>> {
    ctx.caller.require_person()?;
    ctx.house.store().read(Memberships { user: ctx.caller.user.clone() }).await
}

pub(crate) struct Memberships {
    pub(crate) user: UserId,
}

impl Operation for Memberships {
    type Output = Vec<Membership>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Membership>> {
        Ok(tx.memberships(&self.user).await?)
    }
}
