//! The resources: entries of shared contexts and items, by address.

use super::answers::protocol_error;
use super::askers::Asker;
use domain::answers::{Answer, KeyListing};
use domain::item_requests::{ItemAnswer, ListedItem};
use domain::requests::Request;
use domain::{Code, Refusal};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Map, Value, json};
use service::items::{self, Acting};
use service::sessions::SessionRef;
use service::shared_context;

const SCHEME: &str = "longhouse://";
const ENTRY_TEMPLATE: &str = "longhouse://sessions/{session}/context/{key}";
const ITEM_TEMPLATE: &str = "longhouse://items/{key}";
/// Items that a list names, the newest ones; `workspace_list` has them all.
const ITEMS_LISTED: u64 = 500;
const PLAIN: &str = "text/plain";

/// Everything but the characters that an address leaves as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What a resource's address names.
#[derive(Debug, PartialEq)]
pub(super) enum Address {
    /// `longhouse://sessions/{session}/context/{key}`, with `?workspace=` where several sessions have that id.
    Entry { session: SessionRef, key: String },
    /// `longhouse://items/{key}`, of the scope that the credential's agent works on.
    Item { key: String },
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
        if let (Some(key), None) = (path.strip_prefix("items/"), query) {
            return Some(Self::Item { key: decoded(key)? });
        }
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

/// A key from an address: anything but letters, digits and a few marks comes escaped.
fn decoded(key: &str) -> Option<String> {
    let text = percent_decode_str(key).decode_utf8().ok()?;
    (!text.is_empty() && !key.contains('/')).then(|| text.into_owned())
}

fn item_address(key: &str) -> String {
    format!("{SCHEME}items/{}", utf8_percent_encode(key, ESCAPED))
}

fn entry_address(session: &SessionRef, key: &str) -> String {
    format!("{SCHEME}sessions/{}/context/{key}", session.id)
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let entry = ResourceTemplate::new(ENTRY_TEMPLATE, "shared_context_entry")
        .with_title("Shared context entry")
        .with_description("The value of one key of a session's shared context. Subscribe to hear of changes.")
        .with_mime_type(PLAIN);
    let item = ResourceTemplate::new(ITEM_TEMPLATE, "workspace_item")
        .with_title("Workspace item")
        .with_description("One item of your workspace, its key percent-encoded. Subscribe to hear of changes.")
        .with_mime_type(PLAIN);
    vec![entry, item]
}

/// The keys of the caller's own session, and the items of its own agent.
pub(super) async fn list(asker: &Asker) -> Result<Vec<Resource>, ErrorData> {
    let mut resources = entries(asker).await?;
    resources.extend(items(asker).await?);
    Ok(resources)
}

async fn items(asker: &Asker) -> Result<Vec<Resource>, ErrorData> {
    if !asker.is_agent() {
        return Ok(Vec::new());
    }
    match items::newest(&asker.ctx, ITEMS_LISTED).await {
        Ok(items) => Ok(items.iter().map(describe_item).collect()),
        // An agent whose own list of tools leaves this out has no items to show.
        Err(error) if error.code() == Code::Forbidden => Ok(Vec::new()),
        Err(error) => Err(protocol_error(error)),
    }
}

fn describe_item(listed: &ListedItem) -> Resource {
    let ListedItem { key, size_bytes, version, updated_by, updated_at, .. } = listed;
    let about = format!("{size_bytes} bytes, version {version}, written by {updated_by} at {updated_at}");
    Resource::new(item_address(key.as_str()), key.as_str()).with_description(about).with_mime_type(PLAIN)
}

async fn read_item(asker: &Asker, uri: &str, key: String) -> Result<ReadResourceResult, ErrorData> {
    if !asker.is_agent() {
        return Err(not_found());
    }
    let wanted = Map::from_iter([("key".to_owned(), Value::String(key))]);
    match items::call(&asker.ctx, Acting::Own, "workspace_read", wanted).await.map_err(protocol_error)? {
        ItemAnswer::Read(item) => {
            let meta = meta(&json!({
                "version": item.version, "created_by": item.created_by, "updated_by": item.updated_by,
                "updated_at": item.updated_at, "on_behalf_of": item.on_behalf_of,
            }));
            Ok(contents(item.value, uri, meta))
        }
        _ => Err(not_found()),
    }
}

async fn entries(asker: &Asker) -> Result<Vec<Resource>, ErrorData> {
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

/// What an address names. What the caller may not see is not there; the error says what was asked for.
pub(super) async fn read(asker: &Asker, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    read_named(asker, uri).await.map_err(|mut error| {
        match &mut error.data {
            // Clients know what is not there by an error that has the address and nothing else.
            data if error.code == ErrorCode::RESOURCE_NOT_FOUND => *data = Some(json!({"uri": uri})),
            Some(Value::Object(data)) => drop(data.insert("uri".to_owned(), json!(uri))),
            _ => {}
        }
        error
    })
}

async fn read_named(asker: &Asker, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (session, key) = match Address::parse(uri) {
        Some(Address::Entry { session, key }) => (session, key),
        Some(Address::Item { key }) => return read_item(asker, uri, key).await,
        None => return Err(not_found()),
    };
    let answer = shared_context::execute(&asker.ctx, session, Request::Read { key }).await.map_err(protocol_error)?;
    let Answer::Entry(entry) = answer else { return Err(not_found()) };
    let meta = meta(&json!({
        "written_by": entry.written_by, "written_at": entry.written_at, "version": entry.version, "rev": entry.rev,
        "expires_at": entry.expires_at,
    }));
    Ok(contents(entry.value, uri, meta))
}

fn contents(value: String, uri: &str, meta: MetaObject) -> ReadResourceResult {
    ReadResourceResult::new(vec![ResourceContents::text(value, uri).with_mime_type(PLAIN).with_meta(meta)])
}

/// The facts that are there.
fn meta(facts: &Value) -> MetaObject {
    let known = facts.as_object().into_iter().flatten().filter(|(_, fact)| !fact.is_null());
    let known: Map<String, Value> = known.map(|(name, fact)| (name.clone(), fact.clone())).collect();
    serde_json::from_value(Value::Object(known)).unwrap_or_default()
}

pub(super) fn not_found() -> ErrorData {
    protocol_error(Refusal::new(Code::KeyNotFound, "there is no such resource that you can see").into())
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
        let item = |key: &str| Some(Address::Item { key: key.to_owned() });
        assert_eq!(Address::parse("longhouse://items/list"), item("list"));
        assert_eq!(Address::parse(&item_address("a/b é?#%")), item("a/b é?#%"));
        for bad in [
            "",
            "longhouse://items/",
            "longhouse://items/a/b",
            "longhouse://items/%ff",
            "longhouse://items/a?workspace=personal",
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
