//! A session and its owner: the scene of most stories about shared context.

use serde_json::{Value, json};
use testkit::{Answer, Ask, World};

pub(super) const SESSION: &str = "ticket-42";

pub(super) struct Room {
    pub(super) world: World,
    pub(super) owner: String,
}

impl Room {
    pub(super) async fn new(config: Value) -> Self {
        let world = World::new().await;
        let owner = world.owner().await;
        world.session(&owner, SESSION, config).await;
        Self { world, owner }
    }

    pub(super) async fn participant(&self, name: &str) -> String {
        self.world.participant(&self.owner, SESSION, name).await
    }

    pub(super) fn ask(&self, token: &str, request: &Value) -> Ask {
        self.world.context(token, SESSION, request)
    }

    pub(super) async fn try_as(&self, token: &str, request: Value) -> Answer {
        self.ask(token, &request).send().await
    }

    pub(super) async fn as_(&self, token: &str, request: Value) -> Value {
        self.try_as(token, request).await.ok()
    }

    /// What the owner asks and must be given.
    pub(super) async fn does(&self, request: Value) -> Value {
        self.as_(&self.owner, request).await
    }

    /// What the owner asks and must be refused; the details.
    pub(super) async fn refuses(&self, request: Value, status: u16, code: &str) -> Value {
        self.try_as(&self.owner, request).await.refused(status, code)
    }

    pub(super) async fn write(&self, key: &str, value: &str) -> Value {
        self.does(json!({"action": "write", "key": key, "value": value})).await
    }

    pub(super) async fn read(&self, key: &str) -> Value {
        self.does(json!({"action": "read", "key": key})).await
    }

    pub(super) async fn delete(&self, key: &str) -> Value {
        self.does(json!({"action": "delete", "key": key})).await
    }

    pub(super) async fn keys(&self, token: &str) -> Vec<String> {
        names(&self.as_(token, json!({"action": "list_keys"})).await["keys"])
    }

    pub(super) async fn session(&self) -> Value {
        self.world.get(&format!("/sessions/{SESSION}")).by(&self.owner).send().await.ok()
    }

    pub(super) async fn archive(&self) -> Value {
        let path = format!("/sessions/{SESSION}/archive");
        self.world.post(&path, &json!({})).by(&self.owner).send().await.ok()
    }

    /// Everything that must stay as it is when something is refused.
    pub(super) async fn state(&self) -> (Value, Value, Value) {
        let listing = self.does(json!({"action": "list_keys"})).await;
        let snapshots = self.does(json!({"action": "list_snapshots"})).await;
        (listing, snapshots, self.session().await["rev"].clone())
    }

    /// Every audit row about this session, oldest first.
    pub(super) async fn audit(&self) -> Vec<Value> {
        let rows = self.world.get("/admin/audit?limit=500").by(&self.owner).send().await.ok();
        assert_eq!(rows["next_cursor"], Value::Null, "one page holds it all");
        let rows = rows["items"].as_array().expect("rows").clone();
        rows.into_iter().filter(|row| row["session"] == SESSION).collect()
    }
}

/// The `key` of each object of a list.
pub(super) fn names(list: &Value) -> Vec<String> {
    let items = list.as_array().expect("a list");
    items.iter().map(|item| item["key"].as_str().expect("a key").to_owned()).collect()
}

/// The field names of an object, sorted.
pub(super) fn fields(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
