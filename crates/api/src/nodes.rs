//! Nodes over HTTP.

use crate::app::App;
use crate::bodies::{self, Nothing, Posted};
use crate::errors::Result;
use crate::paths::Segment;
use crate::signed::{Signed, peer};
use axum::Json;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{StatusCode, header};
use domain::nodes::Machine;
use domain::{Code, Refusal};
use protocol::errors::ErrorBody;
use protocol::nodes::{Node, NodeList, PairNode, Pairing};
use service::nodes::{self, AskToPair, ServesWhat, SignInNode};
use service::projects::ProjectRef;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(pair)).routes(routes!(confirm)).routes(routes!(list)).routes(routes!(remove))
}

/// What a body asks for.
enum Asked {
    ToComeIn(AskToPair),
    ToSignIn(SignInNode, String),
}

/// Ask to come in with a node, or sign in with one.
///
/// Without a credential it gives only a code that a person has to confirm; with a person's own token the node is in at
/// once.
#[utoipa::path(post, path = "/nodes/pair", tag = "nodes", request_body = PairNode, security(()),
    responses((status = 200, body = Pairing, description = "Signed in"),
        (status = 201, body = Pairing, description = "A code, or the node"),
        (status = 202, body = Pairing, description = "The code is not confirmed yet"),
        (status = 401, body = ErrorBody), (status = 404, body = ErrorBody, description = "PAIRING_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "NODE_EXISTS")))]
async fn pair(State(app): State<App>, request: Request) -> Result<(StatusCode, Json<Pairing>)> {
    let (mut parts, body) = request.into_parts();
    // Whoever brings a credential is held to it: one that is no good is not passed over.
    let signed = if parts.headers.contains_key(header::AUTHORIZATION) {
        Some(Signed::from_request_parts(&mut parts, &app).await?)
    } else {
        app.limits.may_sign_in(peer(&parts))?;
        None
    };
    let now = app.house.now();
    match asked(bodies::anonymous(&parts.headers, body).await?)? {
        Asked::ToComeIn(input) => {
            let pairing = match signed {
                Some(Signed { ctx, .. }) => paired(nodes::pair(&ctx, input).await?, now),
                None => {
                    // Every code counts against the address that asks for it.
                    app.limits.failed_sign_in(peer(&parts));
                    let code = nodes::ask(&app.house, input).await?;
                    pending(Some(code.code), Some(code.expires_at))
                }
            };
            Ok((StatusCode::CREATED, Json(pairing)))
        }
        Asked::ToSignIn(by, key) => match nodes::sign_in(&app.house, by, &key).await {
            Ok(None) => Ok((StatusCode::ACCEPTED, Json(pending(None, None)))),
            Ok(Some(found)) => {
                let expires_at = Some(found.issued.token.expires_at);
                let pairing = Pairing { token: Some(found.issued.text), expires_at, ..paired(found.node, now) };
                Ok((StatusCode::OK, Json(pairing)))
            }
            Err(error) => {
                if matches!(error.code(), Code::Unauthenticated | Code::PairingNotFound) {
                    app.limits.failed_sign_in(peer(&parts));
                }
                Err(error.into())
            }
        },
    }
}

fn pending(code: Option<String>, expires_at: Option<domain::times::Timestamp>) -> Pairing {
    Pairing { status: "pending".to_owned(), code, expires_at, node: None, token: None }
}

fn paired(node: domain::nodes::Node, now: domain::times::Timestamp) -> Pairing {
    let node = Some(Node::new(node, now));
    Pairing { status: "paired".to_owned(), code: None, expires_at: None, node, token: None }
}

fn asked(body: PairNode) -> Result<Asked> {
    let PairNode { name, project, workspace, root_label, platform, version, key_hash, code, node, key } = body;
    let rest = [&name, &project, &workspace, &root_label, &platform, &version, &key_hash];
    let says_what_it_is = rest.into_iter().any(Option::is_some);
    match (code, node, key) {
        (None, None, None) => {}
        (Some(code), None, Some(key)) if !says_what_it_is => return Ok(Asked::ToSignIn(SignInNode::Code(code), key)),
        (None, Some(node), Some(key)) if !says_what_it_is => return Ok(Asked::ToSignIn(SignInNode::Node(node), key)),
        _ => return Err(Refusal::invalid("to sign in, give `key` with `code` or `node`, and nothing else").into()),
    }
    let required = |field: &'static str, value: Option<String>| {
        value.ok_or_else(|| Refusal::invalid_field(field, format!("`{field}` is missing")))
    };
    let serves = match (project, workspace) {
        (Some(id_or_name), workspace) => ServesWhat::Project(ProjectRef { id_or_name, workspace }),
        (None, Some(workspace)) => ServesWhat::Workspace(workspace),
        (None, None) => return Err(Refusal::invalid_field("project", "say which `project` or `workspace`").into()),
    };
    let machine = Machine {
        root_label: required("root_label", root_label)?,
        platform: platform.unwrap_or_else(|| "unknown".to_owned()),
        version: version.unwrap_or_else(|| "unknown".to_owned()),
    };
    let key_hash = required("key_hash", key_hash)?;
    Ok(Asked::ToComeIn(AskToPair { name: required("name", name)?, serves, machine, key_hash }))
}

/// Let a node in that shows this code. It works for you from then on.
#[utoipa::path(post, path = "/nodes/pair/{code}/confirm", tag = "nodes", params(("code" = String, Path)),
    responses((status = 200, body = Node), (status = 404, body = ErrorBody, description = "PAIRING_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "NODE_EXISTS")))]
async fn confirm(Segment(code): Segment, Posted { ctx, .. }: Posted<Nothing>) -> Result<Json<Node>> {
    let node = nodes::confirm(&ctx, &code).await?;
    Ok(Json(Node::new(node, ctx.now())))
}

/// Your nodes, and those that serve the members of your workspaces.
#[utoipa::path(get, path = "/nodes", tag = "nodes", responses((status = 200, body = NodeList)))]
async fn list(Signed { ctx, .. }: Signed) -> Result<Json<NodeList>> {
    let now = ctx.now();
    let items = nodes::list(&ctx).await?.into_iter().map(|node| Node::new(node, now)).collect();
    Ok(Json(NodeList { items, next_cursor: None }))
}

/// Remove a node: its key opens nothing any more.
#[utoipa::path(delete, path = "/nodes/{node}", tag = "nodes", params(("node" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody, description = "NODE_NOT_FOUND")))]
async fn remove(Signed { ctx, .. }: Signed, Segment(node): Segment) -> Result<StatusCode> {
    nodes::remove(&ctx, &node).await?;
    Ok(StatusCode::NO_CONTENT)
}
