//! `longhouse token …`

use super::{all_pages, path};
use crate::cli::{Actor, CreateToken, Token};
use crate::client::Client;
use crate::output::{cell, items, print};
use anyhow::Result;
use axum::http::Method;
use serde_json::{Value, json};

pub(super) async fn run(client: &Client, json: bool, command: Token) -> Result<()> {
    match command {
        Token::Create(wanted) => create(client, json, wanted).await,
        Token::List { user } => {
            let actor = Actor { user, participant: None };
            let found = Value::Array(all_pages(client, &actor, &["my", "tokens"], &[]).await?);
            let fields = ["id", "kind", "user", "agent", "session", "participant", "label", "expires_at"];
            print(json, &found, |found| items(found, &fields))?;
            Ok(())
        }
        Token::Revoke { jti } => {
            // On this machine anybody's, elsewhere one's own.
            let place = if client.is_remote() { "my" } else { "admin" };
            client.call(&Actor::default(), Method::DELETE, &path(&[place, "tokens", &jti], &[]), None).await?;
            print(json, &json!({"revoked": jti}), |answer| format!("revoked {}", cell(&answer["revoked"])))?;
            Ok(())
        }
    }
}

async fn create(client: &Client, json: bool, wanted: CreateToken) -> Result<()> {
    let body = json!({
        "user": wanted.user,
        "agent": wanted.agent,
        "session": wanted.session,
        "workspace": wanted.workspace,
        "participant": wanted.participant,
        "channel": wanted.channel,
        "ttl": wanted.ttl,
        "label": wanted.label,
    });
    let answer = client.post(&Actor::default(), "/my/tokens", &body).await?;
    print(json, &answer, |answer| cell(&answer["token"]))?;
    Ok(())
}
