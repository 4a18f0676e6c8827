//! The resources: entries of shared contexts, by address. Items will be a second kind of `Address`.

use super::answers::protocol_error;
use super::askers::Asker;
use domain::Refusal;
use domain::answers::{Answer, KeyListing, ReadEntry};
use domain::requests::Request;
use rmcp::ErrorData;
use rmcp::model::{MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};
use service::sessions::SessionRef;
use service::shared_context;

const SCHEME: &str = "longhouse://";
const ENTRY_TEMPLATE: &str = "longhouse://sessions/{session}/context/{key}";
const PLAIN: &str = "text/plain";

/// What a resource's address names.
#[derive(Debug, PartialEq)]
pub(super) enum Address {
    /// `longhouse://sessions/{session}/context/{key}`, with `?workspace=` where several sessions have that id.
    Entry { session: SessionRef, key: String },
}

impl Address {
    /// `None` for an address of nothing that could be here.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?;
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        let workspace = match query {
            Some(query) => Some(query.strip_prefix("workspace=")?.to_owned()),
            None => None,
        };
        let mut segments = path.split('/');
        let named = (segments.next()?, segments.next()?, segments.next()?, segments.next()?, segments.next());
        match named {
            ("sessions", session, "context", key, None) if !key.is_empty() => {
                let session = SessionRef::parse(session, workspace).ok()?;
                // A namespace's colon may come escaped; nothing else in a key ever needs it.
                Some(Self::Entry { session, key: key.replace("%3A", ":").replace("%3a", ":") })
            }
            _ => None,
        }
    }
}

fn entry_address(session: &SessionRef, key: &str) -> String {
    format!("{SCHEME}sessions/{}/context/{key}", session.id)
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let entry = ResourceTemplate::new(ENTRY_TEMPLATE, "shared_context_entry")
        .with_title("Shared context entry")
        .with_description("The value of one key of a session's shared context. Subscribe to hear of changes.")
        .with_mime_type(PLAIN);
    vec![entry]
}

/// The keys of the caller's own session.
pub(super) async fn list(asker: &Asker) -> Result<Vec<Resource>, ErrorData> {
    let Some(session) = asker.own_session() else { return Ok(Vec::new()) };
    let request = Request::ListKeys { prefix: None };
    let answer = shared_context::execute(&asker.ctx, session.clone(), request).await.map_err(protocol_error)?;
    let Answer::Listing(listing) = answer else { return Ok(Vec::new()) };
    Ok(listing.keys.iter().map(|key| describe(&session, key)).collect())
}

fn describe(session: &SessionRef, listed: &KeyListing) -> Resource {
    let KeyListing { key, written_by, written_at, version, value_size_tokens, .. } = listed;
    let about =
        format!("{value_size_tokens} tokens, version {version}, written by {written_by} at {}", json!(written_at));
    Resource::new(entry_address(session, key.as_str()), key.as_str())
        .with_description(about.replace('"', ""))
        .with_mime_type(PLAIN)
}

/// An entry's value. What the caller may not see is not there.
pub(super) async fn read(asker: &Asker, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let Some(Address::Entry { session, key }) = Address::parse(uri) else { return Err(not_found()) };
    let answer = shared_context::execute(&asker.ctx, session, Request::Read { key }).await.map_err(protocol_error)?;
    let Answer::Entry(entry) = answer else { return Err(not_found()) };
    let meta = meta(&entry);
    let contents = ResourceContents::text(entry.value, uri).with_mime_type(PLAIN).with_meta(meta);
    Ok(ReadResourceResult::new(vec![contents]))
}

fn meta(entry: &ReadEntry) -> MetaObject {
    let facts = json!({
        "written_by": entry.written_by, "written_at": entry.written_at, "version": entry.version, "rev": entry.rev,
        "expires_at": entry.expires_at,
    });
    let known = match facts {
        Value::Object(facts) => facts.into_iter().filter(|(_, fact)| !fact.is_null()).collect(),
        _ => serde_json::Map::new(),
    };
    serde_json::from_value(Value::Object(known)).unwrap_or_default()
}

pub(super) fn not_found() -> ErrorData {
    protocol_error(Refusal::new(domain::Code::KeyNotFound, "there is no such resource that you can see").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_session_a_key_and_maybe_a_workspace() {
        let session = |workspace: Option<&str>| SessionRef::parse("plans", workspace.map(str::to_owned)).unwrap();
        let entry = |key: &str, workspace| Some(Address::Entry { session: session(workspace), key: key.to_owned() });
        assert_eq!(Address::parse("longhouse://sessions/plans/context/a"), entry("a", None));
        assert_eq!(Address::parse("longhouse://sessions/plans/context/inv:a"), entry("inv:a", None));
        assert_eq!(Address::parse("longhouse://sessions/plans/context/inv%3Aa"), entry("inv:a", None));
        let with_workspace = "longhouse://sessions/plans/context/a?workspace=personal";
        assert_eq!(Address::parse(with_workspace), entry("a", Some("personal")));
        for bad in [
            "",
            "longhouse://",
            "longhouse://sessions/plans",
            "longhouse://sessions/plans/context/",
            "longhouse://sessions/plans/context/a/b",
            "longhouse://sessions/../context/a",
            "longhouse://sessions/plans/context/a?x=1",
            "https://sessions/plans/context/a",
            "file:///etc/passwd",
        ] {
            assert_eq!(Address::parse(bad), None, "{bad}");
        }
    }
}
