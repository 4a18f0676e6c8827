//! Senders whom nobody knows: a short code for each, and an admin who lets them in or does not.
//!
//! A code is made of the house's secret and a salt, so that the same sender is told the same code again, and the database
//! alone tells nobody any.

use crate::nodes::pairing::{hash, letters, plain, shown};
use crate::users::{self, house_chain};
use crate::{Ctx, Error, House, Result, idempotency};
use data_encoding::HEXLOWER;
use domain::audit::AuditRecord;
use domain::channels::DisplayName;
use domain::ids::UserId;
use domain::roles::Role;
use domain::times::Timestamp;
use domain::users::User;
use domain::workspaces::{Identity, Source};
use domain::{Code, Refusal};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::{KnownIdentity, Operation, SenderPairing, Tx};

const LASTS_S: u64 = 3_600;
/// Codes that wait for an admin, in the whole house.
const OPEN_MOST: u64 = 1_000;

/// What makes codes.
#[derive(Clone)]
pub(super) struct Codes {
    key: [u8; 32],
    /// For the next one.
    salt: String,
}

impl Codes {
    pub(super) fn of(house: &House) -> Self {
        Self { key: house.signer().pairing_key(), salt: HEXLOWER.encode(&house.random()[..16]) }
    }

    fn code(&self, identity: &Identity, salt: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.key);
        for part in [salt, &identity.channel, &identity.id] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        letters(&hasher.finalize())
    }

    /// The sender's code: the one that still lives, or a new one. None if too many wait.
    pub(super) async fn give(
        &self,
        tx: &mut Tx,
        identity: &Identity,
        name: &DisplayName,
        now: Timestamp,
    ) -> Result<Option<String>> {
        if let Some(found) = tx.sender_pairing_of(identity, now).await? {
            return Ok(Some(shown(&self.code(identity, &found.salt))));
        }
        tx.forget_sender_pairings(now).await?;
        if tx.count_sender_pairings(now).await? >= OPEN_MOST {
            return Ok(None);
        }
        let code = self.code(identity, &self.salt);
        let pairing = SenderPairing {
            code_hash: hash(&code),
            identity: identity.clone(),
            display_name: name.as_str().to_owned(),
            salt: self.salt.clone(),
            asked_at: now,
            expires_at: now.plus_seconds(LASTS_S),
        };
        tx.create_sender_pairing(&pairing).await?;
        Ok(Some(shown(&code)))
    }
}

/// Somebody who waits to be let in.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingSender {
    pub code: String,
    pub identity: Identity,
    /// What they call themselves. Decides nothing.
    pub display_name: String,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Those who wait, for admins.
pub async fn pairings(ctx: &Ctx) -> Result<Vec<WaitingSender>> {
    ctx.caller.require_admin()?;
    let codes = Codes::of(&ctx.house);
    let found = ctx.house.store().read(List { now: ctx.now() }).await?;
    let shown = |pairing: SenderPairing| WaitingSender {
        code: shown(&codes.code(&pairing.identity, &pairing.salt)),
        identity: pairing.identity,
        display_name: pairing.display_name,
        asked_at: pairing.asked_at,
        expires_at: pairing.expires_at,
    };
    Ok(found.into_iter().map(shown).collect())
}

struct List {
    now: Timestamp,
}

impl Operation for List {
    type Output = Vec<SenderPairing>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<SenderPairing>> {
        Ok(tx.sender_pairings(self.now, OPEN_MOST).await?)
    }
}

/// Whose account it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approved {
    pub user: UserId,
    pub identity: Identity,
    /// Whether the person is new in the house.
    pub is_new: bool,
}

/// Lets a sender in: as somebody who is here already, or as a new member.
pub async fn approve(ctx: &Ctx, code: &str, user: Option<UserId>) -> Result<Approved> {
    ctx.caller.require_admin()?;
    let record = ctx.audit("pairing.approve", ctx.now());
    let operation = Approve { code_hash: hash(&plain(code)), user, record, now: ctx.now() };
    idempotency::write(ctx, &house_chain(), operation).await
}

struct Approve {
    code_hash: String,
    user: Option<UserId>,
    record: AuditRecord,
    now: Timestamp,
}

impl Operation for Approve {
    type Output = Approved;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Approved> {
        let pairing = tx.sender_pairing(&self.code_hash, self.now).await?.ok_or_else(not_found)?;
        let identity = pairing.identity;
        if tx.user_of(&identity).await?.is_some() {
            let message = "that account is somebody's already: take it from them first";
            return Err(Refusal::new(Code::UserExists, message).into());
        }
        let (user, is_new) = match &self.user {
            Some(user) => (tx.user(user).await?.ok_or_else(users::not_found)?.id, false),
            None => (self.make_member(tx, &identity).await?, true),
        };
        tx.remove_sender_pairing(&self.code_hash).await?;
        let known = KnownIdentity { identity: identity.clone(), user: user.clone(), source: Source::Admin };
        tx.add_identity(&known).await?;
        tx.rules_changed().await?;
        let record = self.record.clone().with("user", user.as_str()).with("channel", &*identity.channel);
        let record = record.with("sender", &*identity.id).with("is_new", is_new);
        tx.scope(&house_chain()).audit().append(record);
        Ok(Approved { user, identity, is_new })
    }
}

impl Approve {
    /// A new member, named after the account and not after what they call themselves.
    async fn make_member(&self, tx: &mut Tx, identity: &Identity) -> Result<UserId> {
        for number in 0..100 {
            let id = UserId::parse(&name_for(identity, number))?;
            let user = User { id: id.clone(), role: Role::Member, created_at: self.now };
            if tx.known_user(&id).await?.is_none() && tx.create_user(&user).await? {
                return Ok(id);
            }
        }
        Err(Refusal::new(Code::UserExists, "no name is free for a new member: say which `user` it is").into())
    }
}

/// `telegram-1111`, with a number if that is taken.
fn name_for(identity: &Identity, number: u32) -> String {
    let letters = identity.id.to_lowercase();
    let kept: String = letters.chars().filter(|letter| letter.is_ascii_alphanumeric()).take(16).collect();
    let name = if kept.is_empty() { identity.channel.clone() } else { format!("{}-{kept}", identity.channel) };
    if number == 0 { name } else { format!("{name}-{}", number + 1) }
}

/// Sends a sender away: the code is worth nothing any more.
pub async fn reject(ctx: &Ctx, code: &str) -> Result<()> {
    ctx.caller.require_admin()?;
    let record = ctx.audit("pairing.reject", ctx.now());
    let operation = Reject { code_hash: hash(&plain(code)), record, now: ctx.now() };
    idempotency::write(ctx, &house_chain(), operation).await
}

struct Reject {
    code_hash: String,
    record: AuditRecord,
    now: Timestamp,
}

impl Operation for Reject {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let pairing = tx.sender_pairing(&self.code_hash, self.now).await?.ok_or_else(not_found)?;
        tx.remove_sender_pairing(&self.code_hash).await?;
        let record = self.record.clone().with("channel", &*pairing.identity.channel);
        tx.scope(&house_chain()).audit().append(record.with("sender", &*pairing.identity.id));
        Ok(())
    }
}

fn not_found() -> Refusal {
    Refusal::new(
        Code::PairingNotFound,
        "this code is unknown, used or too old: the sender gets a new one by writing again",
    )
}
