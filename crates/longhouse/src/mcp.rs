//! `longhouse mcp`: a bridge between standard input and output and the door `/mcp`.
//!
//! There is one MCP server and it is behind that door. The bridge carries messages there and back, one line each, and
//! knows of MCP only what HTTP needs: which headers go with a message, that an old version has a session with a stream,
//! and what to do when the server goes away. Nothing but messages is written to standard output.

mod bridge;
mod legacy;
mod lines;
mod link;
mod messages;

use crate::cli::{Mcp, Place};
use crate::stdin;
use anyhow::{Result, bail};
use bridge::Bridge;
use link::Link;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

pub(crate) async fn run(place: &Place, options: &Mcp) -> Result<ExitCode> {
    let Mcp { user, agent, session, workspace: _, participant } = options;
    let has_token = place.server.is_some() || place.token_file.is_some();
    if has_token && [user, agent, session, participant].into_iter().any(Option::is_some) {
        bail!(
            "--user, --agent, --session and --participant are for this machine without a token: with --server or \
             --token-file the token says who you are"
        );
    }
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let link = Link::connect(place, options).await?;
    // A refusal now is clearer than one for each message.
    if let Err(error) = link.check().await {
        link.close().await;
        return Err(error);
    }
    let bridge = Bridge::new(link);
    tokio::select! {
        () = bridge.carry(stdin::lines()) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    bridge.close().await;
    Ok(ExitCode::SUCCESS)
}
