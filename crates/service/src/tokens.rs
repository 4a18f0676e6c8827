//! Tokens: made, listed and revoked by the people they belong to.

mod kinds;

pub use kinds::Wanted;

use crate::paging::{Listed, Page};
use crate::users;
use crate::{Ctx, Error, Result, idempotency};
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::ids::{TokenId, UserId, WorkspaceId};
use domain::times::Timestamp;
use domain::tokens::{Token, TokenKind};
use domain::{Code, Refusal};
pub(crate) use kinds::Settle;
use std::sync::Arc;
use store::{Operation, Tx};

const LABEL_LONGEST: usize = 100;
const CHANNELS: [&str; 3] = ["http", "telegram", "discord"];

#[derive(Debug, Clone)]
pub struct CreateToken {
    /// For somebody else: only the operator may.
    pub user: Option<UserId>,
    pub wanted: Wanted,
    pub ttl_seconds: u64,
    pub label: Option<String>,
}

/// A token with its text, which is shown once.
pub struct Issued {
    pub token: Token,
    pub text: String,
}

pub async fn create(ctx: &Ctx, input: CreateToken) -> Result<Issued> {
    ctx.caller.require_person()?;
    if let Some(label) = &input.label {
        domain::sessions::check_text("label", label, LABEL_LONGEST)?;
    }
    let user = input.user.clone().unwrap_or_else(|| ctx.caller.user.clone());
    if user != ctx.caller.user && !ctx.caller.is_operator() {
        return Err(Refusal::forbidden("a token for somebody else is made on the house's own machine").into());
    }
    if let Wanted::Channel { channel } = &input.wanted {
        ctx.caller.require_admin()?;
        if !CHANNELS.contains(&channel.as_str()) {
            let known = CHANNELS.join(", ");
            return Err(Refusal::invalid_field("channel", format!("`channel` is one of {known}")).into());
        }
    }
    let (id, now) = (TokenId::generated(ctx.house.unique()), ctx.now());
    // A token never lasts longer than the one it was made with, and ends with it.
    let wanted = now.plus_seconds(input.ttl_seconds);
    let expires_at = ctx.token.as_ref().map_or(wanted, |(_, maker_ends)| wanted.min(*maker_ends));
    let made_by = ctx.token.as_ref().map(|(maker, _)| maker.clone());
    let kind = Settle { caller: ctx.caller.clone(), user: user.clone(), wanted: input.wanted };
    let (caller, label) = (ctx.caller.clone(), input.label);
    let operation = Create { caller, user, id, now, expires_at, made_by, label, kind };
    let turn = WorkspaceId::personal(&ctx.caller.user);
    let token = idempotency::write(ctx, &turn, operation).await?;
    Ok(Issued { text: ctx.house.signer().sign(&token)?, token })
}

struct Create {
    caller: Arc<Caller>,
    user: UserId,
    id: TokenId,
    now: Timestamp,
    expires_at: Timestamp,
    made_by: Option<TokenId>,
    label: Option<String>,
    kind: Settle,
}

impl Operation for Create {
    type Output = Token;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Token> {
        tx.user(&self.user).await?.ok_or_else(users::not_found)?;
        let (kind, chain) = self.kind.run(tx).await?;
        let token = Token {
            id: self.id.clone(),
            user: self.user.clone(),
            kind,
            label: self.label.clone(),
            created_at: self.now,
            expires_at: self.expires_at,
            revoked_at: None,
            made_by: self.made_by.clone(),
        };
        tx.create_token(&token).await?;
        tx.scope(&chain).audit().append(self.record(&token));
        Ok(token)
    }
}

impl Create {
    fn record(&self, token: &Token) -> AuditRecord {
        let record = AuditRecord::new(&self.caller, "token.create", self.now)
            .with("token", token.id.as_str())
            .with("kind", token.kind.as_str())
            .with("user", token.user.as_str())
            .with("expires_at", token.expires_at.to_string());
        match &token.kind {
            TokenKind::Agent { agent, session, participant, .. } => {
                let record = record.with("participant", participant.as_str());
                let record = session.iter().fold(record, AuditRecord::in_session);
                agent.iter().fold(record, |record, agent| record.with("agent", agent.id.as_str()))
            }
            TokenKind::Channel { channel } => record.with("channel", channel.as_str()),
            TokenKind::Node { node, .. } => record.with("node", node.as_str()),
            TokenKind::User => record,
        }
    }
}

/// The caller's tokens that still open something.
pub async fn list(ctx: &Ctx, page: Page) -> Result<Listed<Token>> {
    ctx.caller.require_person()?;
    let limit = page.limit()?;
    let after = page.after(1)?.remove(0);
    let operation = List { user: ctx.caller.user.clone(), now: ctx.now(), after, limit: limit + 1 };
    let items = ctx.house.store().read(operation).await?;
    Ok(Listed::cut(items, limit, |token| vec![token.id.as_str().to_owned()]))
}

struct List {
    user: UserId,
    now: Timestamp,
    after: String,
    limit: u64,
}

impl Operation for List {
    type Output = Vec<Token>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Token>> {
        Ok(tx.live_tokens_page(&self.user, self.now, &self.after, self.limit).await?)
    }
}

/// Ends a token at once. One's own; the operator ends anybody's.
pub async fn revoke(ctx: &Ctx, id: TokenId) -> Result<()> {
    ctx.caller.require_person()?;
    let operation = Revoke { caller: ctx.caller.clone(), id, now: ctx.now() };
    ctx.house.store().write(&WorkspaceId::personal(&ctx.caller.user), operation).await
}

struct Revoke {
    caller: Arc<Caller>,
    id: TokenId,
    now: Timestamp,
}

impl Operation for Revoke {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let not_found = || Refusal::new(Code::TokenNotFound, "there is no token of that id that you can see");
        let token = tx.token(&self.id).await?.ok_or_else(not_found)?;
        if token.user != self.caller.user && !self.caller.is_operator() {
            return Err(not_found().into());
        }
        if !tx.revoke_token(&self.id, self.now).await? {
            return Err(not_found().into());
        }
        tx.rights_shrank();
        let record = AuditRecord::new(&self.caller, "token.revoke", self.now).with("token", self.id.as_str());
        tx.scope(&WorkspaceId::personal(&token.user)).audit().append(record);
        Ok(())
    }
}
