//! How a browser gets in: a one-time code or a token is exchanged for a credential of its own.

use crate::tokens::{self, Issued};
use crate::{Ctx, Error, House, Result, authority, worker_spaces};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use domain::audit::AuditRecord;
use domain::callers::{Caller, Credential};
use domain::ids::{TokenId, UserId, WorkspaceId};
use domain::participants::Participant;
use domain::times::Timestamp;
use domain::tokens::{Token, TokenKind};
use domain::{Code, Refusal};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use store::{Operation, Tx};

const CODE_LASTS_S: u64 = 24 * 3600;
const BROWSER_LASTS_S: u64 = 7 * 24 * 3600;

fn hash(code: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(code.as_bytes()))
}

/// Makes a code that lets `user` in once.
pub async fn create_code(ctx: &Ctx, user: UserId) -> Result<String> {
    ctx.caller.require_admin()?;
    if user != ctx.caller.user && !ctx.caller.is_operator() {
        return Err(Refusal::forbidden("a link for somebody else is made on the house's own machine").into());
    }
    let code = BASE64URL_NOPAD.encode(&ctx.house.random()[..24]);
    let now = ctx.now();
    let record = ctx.audit("sign_in.link", now).with("user", user.as_str());
    let operation = CreateCode { code_hash: hash(&code), user: user.clone(), now, record };
    ctx.house.store().write(&WorkspaceId::personal(&user), operation).await?;
    Ok(code)
}

/// Whether nobody was ever offered a way into the console.
pub async fn was_never_offered(house: &House) -> Result<bool> {
    house.store().read(NeverOffered).await
}

struct NeverOffered;

impl Operation for NeverOffered {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        Ok(!tx.has_sign_in_codes().await?)
    }
}

struct CreateCode {
    code_hash: String,
    user: UserId,
    now: Timestamp,
    record: AuditRecord,
}

impl Operation for CreateCode {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        tx.user(&self.user).await?.ok_or_else(crate::users::not_found)?;
        tx.create_sign_in_code(&self.code_hash, &self.user, self.now.plus_seconds(CODE_LASTS_S)).await?;
        tx.scope(&WorkspaceId::personal(&self.user)).audit().append(self.record.clone());
        Ok(())
    }
}

/// Exchanges a code for a browser's credential. Of any number of tries one succeeds.
pub async fn with_code(house: &House, code: &str) -> Result<Issued> {
    let now = house.now();
    let operation = Redeem { code_hash: hash(code), id: TokenId::generated(house.unique()), now };
    let token = house.store().write(&crate::users::house_chain(), operation).await?;
    Ok(Issued { text: house.signer().sign(&token)?, token })
}

struct Redeem {
    code_hash: String,
    id: TokenId,
    now: Timestamp,
}

impl Operation for Redeem {
    type Output = Token;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Token> {
        let refusal =
            || Refusal::new(Code::Unauthenticated, "this sign-in code is unknown, used or too old: ask for a new link");
        let user = tx.redeem_sign_in_code(&self.code_hash, self.now).await?.ok_or_else(refusal)?;
        let user = tx.user(&user).await?.ok_or_else(refusal)?;
        let caller = Caller {
            participant: Participant::of_user(&user.id),
            user: user.id,
            role: user.role,
            credential: Credential::User,
        };
        let browser =
            Browser { id: self.id.clone(), expires_at: self.now.plus_seconds(BROWSER_LASTS_S), made_by: None };
        browser.enter(tx, &caller, self.now).await
    }
}

/// Exchanges a person's token for a browser's credential that lasts no longer than the token.
pub async fn with_token(house: &House, text: &str) -> Result<Issued> {
    let signed_in = authority::authenticate(house, text).await?;
    if signed_in.caller.credential != Credential::User {
        return Err(Refusal::forbidden("only a person's own token signs in").into());
    }
    let now = house.now();
    let longest = now.plus_seconds(BROWSER_LASTS_S);
    let expires_at = signed_in.expires_at.map_or(longest, |at| at.min(longest));
    let id = TokenId::generated(house.unique());
    let browser = Browser { id, expires_at, made_by: signed_in.token.clone() };
    let operation = Enter { caller: signed_in.caller.clone(), now, browser };
    let token = house.store().write(&WorkspaceId::personal(&signed_in.caller.user), operation).await?;
    Ok(Issued { text: house.signer().sign(&token)?, token })
}

/// Ends a browser's credential. Whoever leaves ends the work of their own projects, unless something runs there.
pub async fn leave(ctx: &Ctx, token: TokenId) -> Result<()> {
    tokens::revoke(ctx, token).await?;
    worker_spaces::end_own_if_unused(&ctx.house, &ctx.caller.user).await
}

struct Enter {
    caller: Arc<Caller>,
    now: Timestamp,
    browser: Browser,
}

impl Operation for Enter {
    type Output = Token;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Token> {
        self.browser.enter(tx, &self.caller, self.now).await
    }
}

/// A browser's credential in the making.
struct Browser {
    id: TokenId,
    expires_at: Timestamp,
    made_by: Option<TokenId>,
}

impl Browser {
    async fn enter(&self, tx: &mut Tx, caller: &Caller, now: Timestamp) -> Result<Token> {
        let token = Token {
            id: self.id.clone(),
            user: caller.user.clone(),
            kind: TokenKind::User,
            label: Some("browser".to_owned()),
            created_at: now,
            expires_at: self.expires_at,
            revoked_at: None,
            made_by: self.made_by.clone(),
        };
        tx.create_token(&token).await?;
        let record = AuditRecord::new(caller, "sign_in", now).with("token", token.id.as_str());
        tx.scope(&WorkspaceId::personal(&caller.user)).audit().append(record);
        Ok(token)
    }
}
