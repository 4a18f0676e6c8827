//! What those who run the house see and do.

use crate::sessions::Session;
use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateUser {
    /// A lower-case letter, then lower-case letters, digits, `_` and `-`; 32 at most.
    pub name: String,
    /// `admin`, `member` (the default), `guest`, or one that the configuration file defines.
    pub role: Option<String>,
    /// Let somebody in again who left with the configuration file, with all they have.
    #[serde(default)]
    pub restore: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchUser {
    pub role: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct User {
    pub id: String,
    pub name: String,
    pub role: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// A person in the list of the house.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Person {
    pub id: String,
    pub name: String,
    pub role: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Who says that they are there: `file`, `admin`.
    pub defined_in: Vec<String>,
}

impl From<domain::users::Person> for Person {
    fn from(person: domain::users::Person) -> Self {
        let User { id, name, role, created_at } = person.user.into();
        let defined_in = person.sources.iter().map(|source| source.as_str().to_owned()).collect();
        Self { id, name, role, created_at, defined_in }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct UserList {
    pub items: Vec<Person>,
    pub next_cursor: Option<String>,
}

/// A one-time link into the console.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SignInLink {
    pub user: String,
    pub code: String,
    pub url: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AuditRow {
    pub workspace: String,
    pub seq: u64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub user: String,
    pub participant: String,
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[schema(value_type = Object)]
    pub detail: Value,
    pub hash: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AuditList {
    pub items: Vec<AuditRow>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AuditVerdict {
    /// Whether every chain holds.
    pub intact: bool,
    pub rows: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<AuditFault>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AuditFault {
    pub workspace: String,
    pub seq: u64,
    pub reason: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateBackup {
    /// A new folder; only on the house's own machine. Else `backups/` in the data directory.
    pub path: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Backup {
    pub path: String,
}

/// What became of the configuration file.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ConfigReport {
    /// The file that this server reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The file whose rules are in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<String>,
    /// When they were last changed by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub applied_at: Option<Timestamp>,
    /// Why the file's newest state was refused; what was accepted before stays in force.
    pub problems: Vec<String>,
    pub warnings: Vec<String>,
}

/// The whole shared context of a session, access lists or not.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ContextInspection {
    pub session: Session,
    pub entries: Vec<InspectedEntry>,
    #[schema(value_type = Vec<Object>)]
    pub snapshots: Vec<domain::snapshots::Snapshot>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct InspectedEntry {
    pub key: String,
    pub value: String,
    pub written_by: String,
    #[schema(value_type = String, format = DateTime)]
    pub written_at: Timestamp,
    pub version: u64,
    pub rev: u64,
    pub value_size_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    #[schema(value_type = Vec<String>)]
    pub readable_by: domain::participants::Patterns,
    #[schema(value_type = Vec<String>)]
    pub writable_by: domain::participants::Patterns,
}

impl From<domain::users::User> for User {
    fn from(user: domain::users::User) -> Self {
        Self {
            name: user.id.name().to_owned(),
            id: user.id.as_str().to_owned(),
            role: user.role.as_str().to_owned(),
            created_at: user.created_at,
        }
    }
}

impl From<domain::audit::AuditRow> for AuditRow {
    fn from(row: domain::audit::AuditRow) -> Self {
        Self {
            workspace: row.workspace,
            seq: row.seq,
            at: row.at,
            user: row.user,
            participant: row.participant,
            action: row.action,
            session: row.session,
            detail: serde_json::from_str(&row.detail).unwrap_or(Value::Null),
            hash: row.hash,
        }
    }
}

impl From<domain::entries::Entry> for InspectedEntry {
    fn from(entry: domain::entries::Entry) -> Self {
        Self {
            key: entry.key.as_str().to_owned(),
            value: entry.value,
            written_by: entry.written_by.as_str().to_owned(),
            written_at: entry.written_at,
            version: entry.version,
            rev: entry.rev,
            value_size_tokens: entry.tokens,
            expires_at: entry.expires_at,
            readable_by: entry.access.readable_by,
            writable_by: entry.access.writable_by,
        }
    }
}
