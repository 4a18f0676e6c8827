//! A row that the disk changed is an error, never another answer.
// Damage needs a connection that is not the store's.
#![allow(clippy::disallowed_methods)]

use super::operations::{House, open, workspace};
use domain::agents::{Agent, starter_pack};
use domain::budgets::Day;
use domain::entries::{Access, Entry};
use domain::ids::{AgentId, ItemId, ModelCallId, ProjectId, PublicationId, SessionId, UserId};
use domain::items::{Item, ItemKey, Source};
use domain::keys::Key;
use domain::ledger::{CallEnd, CallOrigin, CallState, ModelCall};
use domain::money::Micros;
use domain::participants::Participant;
use domain::prices::Usage;
use domain::projects::{Project, ProjectApproval};
use domain::publications::Publication;
use domain::roles::Role;
use domain::sessions::{ContextCounters, Session, SessionConfigChoice, SessionState};
use domain::times::Timestamp;
use domain::users::User;
use store::{Error, Operation, Result, Tx};

fn session_id() -> SessionId {
    SessionId::parse("plans").unwrap()
}

fn key() -> Key {
    Key::parse("a", false).unwrap()
}

/// A user with a session and one entry in it.
struct Build;

impl Operation for Build {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let (user, at) = (UserId::parse("sean").unwrap(), Timestamp::from_ms(1));
        tx.create_user(&User { id: user.clone(), role: Role::Member, created_at: at }).await?;
        let place = domain::ids::WorkspaceId::personal(&user);
        let session = Session {
            workspace: place.clone(),
            id: session_id(),
            uid: "u".into(),
            project: None,
            title: None,
            state: SessionState::Active,
            config: SessionConfigChoice::default().settle().unwrap(),
            created_by: user.clone(),
            created_at: at,
            archived_at: None,
            counters: ContextCounters::default(),
        };
        tx.scope(&place).sessions().create(&session).await?;
        let by = Participant::orchestrator();
        let access = Access::open(by.clone());
        let entry = Entry {
            key: key(),
            value: "the right value".into(),
            version: 3,
            rev: 7,
            written_by: by,
            written_at: at,
            tokens: 4,
            expires_at: None,
            access,
        };
        tx.scope(&place).entries(&session_id()).put(&entry).await?;
        furnish(tx, &user, at).await
    }
}

fn agent(user: &UserId, at: Timestamp) -> Agent {
    let shape = starter_pack(None)[0].clone();
    Agent {
        workspace: domain::ids::WorkspaceId::personal(user),
        project: ProjectId::from_trusted("prj_1".into()),
        id: AgentId::from_trusted("agt_1".into()),
        name: shape.name,
        visibility: shape.visibility,
        audience: shape.audience,
        settings: shape.settings,
        created_by: user.clone(),
        created_at: at,
        updated_at: at,
    }
}

/// A project with an agent, an item and a publication.
async fn furnish(tx: &mut Tx, user: &UserId, at: Timestamp) -> Result<()> {
    let agent = agent(user, at);
    let project = Project {
        workspace: agent.workspace.clone(),
        id: agent.project.clone(),
        name: "garden".into(),
        key_conventions: None,
        approval: ProjectApproval::Always,
        created_by: user.clone(),
        created_at: at,
    };
    assert!(tx.scope(&project.workspace).projects().create(&project).await?);
    assert!(tx.scope(&project.workspace).agents(&project.id).create(&agent).await?);
    let key = ItemKey::parse("key", "list".into()).unwrap();
    let source = Source { scope: "user-usr_sean".into(), key: Some(key.clone()), version: 1 };
    let item = Item {
        id: ItemId::from_trusted("itm_1".into()),
        key: key.clone(),
        value: "the right value".into(),
        created_by: agent.id.clone(),
        created_at: at,
        updated_by: agent.id.clone(),
        updated_at: at,
        on_behalf_of: user.clone(),
        version: 3,
        seq: 7,
        published_from: Some(source.clone()),
    };
    tx.items(&agent.item_scope(user)).put(&item).await?;
    let publication = Publication {
        id: PublicationId::from_trusted("pub_1".into()),
        user: user.clone(),
        agent: agent.id.clone(),
        source,
        target_agent: agent.id,
        target_key: key,
        item: item.id,
        item_version: 3,
        published_at: at,
    };
    tx.create_publication(&publication).await?;
    let origin = CallOrigin { user: user.clone(), project: None, agent: None, session: None, model: "gpt-4".into() };
    let call = ModelCall {
        id: model_call(),
        origin,
        day: Day::parse("2026-02-20").unwrap(),
        state: CallState::Open,
        reserved: Some(Micros(10)),
        spent: None,
        usage: None,
        holder: "here".into(),
        opened_at: at,
        expires_at: at,
        closed_at: None,
    };
    tx.scope(&project.workspace).ledger().open(&call).await?;
    let usage = Usage { input_tokens: 7, output_tokens: u64::MAX };
    let settled = call.ended(CallEnd::Used { usage, price: None }, at).unwrap();
    assert!(tx.scope(&project.workspace).ledger().close(&settled, CallState::Open).await?);
    Ok(())
}

fn model_call() -> ModelCallId {
    ModelCallId::from_trusted("mdl_1".into())
}

/// Reads the session and its entry, with or without the value.
struct Look {
    with_value: bool,
}

impl Operation for Look {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let place = domain::ids::WorkspaceId::personal(&UserId::parse("sean").unwrap());
        assert!(tx.scope(&place).sessions().get(&session_id()).await?.is_some());
        let (user, at) = (UserId::parse("sean").unwrap(), Timestamp::from_ms(1));
        let scope = agent(&user, at).item_scope(&user);
        let key_of_item = ItemKey::parse("key", "list".into()).unwrap();
        assert_eq!(tx.projects_page(&user, None, "", 9).await?.len(), 1);
        assert_eq!(tx.scope(&place).agents(&agent(&user, at).project).all().await?.len(), 1);
        assert_eq!(tx.publications_page(&user, "", 9).await?.len(), 1);
        assert!(tx.scope(&place).ledger().get(&model_call()).await?.is_some());
        if self.with_value {
            assert!(tx.items(&scope).get(&key_of_item).await?.is_some());
        } else {
            assert_eq!(tx.items(&scope).newest(9).await?.len(), 1);
        }
        if self.with_value {
            assert!(tx.scope(&place).entries(&session_id()).get(&key()).await?.is_some());
        } else {
            assert_eq!(tx.scope(&place).entries(&session_id()).all_without_values().await?.len(), 1);
        }
        Ok(())
    }
}

async fn damaged_by(sql: &str) -> House {
    let house = open().await;
    house.store.write(&workspace("any"), Build).await.unwrap();
    for with_value in [true, false] {
        house.store.read(Look { with_value }).await.unwrap();
    }
    house.store.close().await;
    rusqlite::Connection::open(house.path()).unwrap().execute_batch(sql).unwrap();
    house.again().await
}

#[tokio::test]
async fn a_row_that_was_changed_on_the_disk_is_an_error() {
    let changes = [
        "UPDATE context_entries SET value = 'the wrong value'",
        "UPDATE context_entries SET version = 4",
        "UPDATE context_entries SET rev = 8",
        "UPDATE context_entries SET written_by = 'subagent:evil'",
        "UPDATE context_entries SET written_at = 2",
        "UPDATE context_entries SET tokens = 5",
        "UPDATE context_entries SET expires_at = 99999999999999",
        "UPDATE context_entries SET access = '[[\"*\"],[\"orchestrator\"]]'",
        "UPDATE context_entries SET created_by = 'subagent:evil'",
        "UPDATE sessions SET rev = 5",
        "UPDATE sessions SET total_tokens = 1",
        "UPDATE sessions SET state = 'archived'",
        "UPDATE sessions SET title = 'x'",
        "UPDATE sessions SET config = replace(config, '10000', '10001')",
        "UPDATE sessions SET project = 'prj_1'",
        "UPDATE projects SET name = 'x'",
        "UPDATE projects SET created_by = 'usr_x'",
        "UPDATE projects SET approval = NULL",
        "UPDATE projects SET approval = 'by_risk'",
        "UPDATE agents SET audience = 'everyone'",
        "UPDATE agents SET visibility = 'shared'",
        "UPDATE agents SET settings = replace(settings, '0.3', '0.4')",
        "UPDATE workspace_items SET value = 'the wrong value'",
        "UPDATE workspace_items SET preview = 'x'",
        "UPDATE workspace_items SET version = 4",
        "UPDATE workspace_items SET on_behalf_of = 'usr_x'",
        "UPDATE workspace_items SET published_from = NULL",
        "UPDATE workspace_items SET seq = 8",
        "UPDATE publications SET target_agent = 'agt_2'",
        "UPDATE publications SET item_version = 4",
        "UPDATE ledger SET spent = 1",
        "UPDATE ledger SET reserved = 11",
        "UPDATE ledger SET state = 'open'",
        "UPDATE ledger SET input_tokens = 8",
        "UPDATE ledger SET day = '2026-02-21'",
        "UPDATE ledger SET user_id = 'usr_x'",
    ];
    for sql in changes {
        let house = damaged_by(sql).await;
        let outcome = house.store.read(Look { with_value: true }).await;
        assert!(matches!(outcome, Err(Error::Damaged(_))), "{sql}: {outcome:?}");
        let only_value = sql.contains("SET value ");
        let outcome = house.store.read(Look { with_value: false }).await;
        assert_eq!(outcome.is_ok(), only_value, "{sql}: a look without values needs no value");
    }
}

#[tokio::test]
async fn a_row_from_before_there_were_sums_is_read_as_it_is() {
    let house = damaged_by("UPDATE context_entries SET sum = NULL, value_sum = NULL, version = 9").await;
    house.store.read(Look { with_value: true }).await.unwrap();
}
