//! What an agent knows of a file that it would overwrite: what it has read or written itself, if nobody has changed it since.

use super::Bench;
use serde_json::{Value, json};
use testkit::World;

/// What the file holds at some time, by its hash.
fn hash(content: char) -> String {
    content.to_string().repeat(64)
}

/// A session in which an agent works on `notes.md`.
struct Work<'w> {
    bench: Bench<'w>,
}

impl<'w> Work<'w> {
    async fn new(world: &'w World) -> Self {
        let bench = Bench::new(world).await;
        for session in ["s", "other"] {
            let body = json!({"id": session, "project": "garden"});
            world.post("/sessions", &body).by(&bench.owner).send().await.ok();
        }
        Self { bench }
    }

    async fn wish(&self, session: &str, tool: &str, params: Value) -> Value {
        let body = json!({"agent": "agent_coder", "session": session, "tool": tool, "params": params});
        self.bench.world.post("/my/projects/garden/tools/execute", &body).by(&self.bench.owner).send().await.ok()
    }

    async fn is_read(&self, session: &str, content: char, truncated: bool) {
        let call = self.wish(session, "tool_read_file", json!({"path": "./notes.md"})).await;
        self.bench.node.accept(&call).await.ok();
        let result = json!({"success": true, "content": "", "sha256": hash(content), "truncated": truncated});
        self.bench.node.result(&call, &result).await.ok();
    }

    /// A change that the person agrees to, from one content to another; none before: there was no file.
    async fn is_changed(&self, tool: &str, params: Value, from: Option<char>, to: char, success: bool) {
        let call = self.wish("s", tool, params).await;
        let base = from.map(hash);
        let preview = json!({"exists": from.is_some(), "base_sha256": base, "diff": "+x\n"});
        let call = self.bench.node.preview(&call, &preview).await.ok();
        self.bench.approve(&call).await;
        let call = self.bench.node.get(&call).await.ok();
        self.bench.node.accept(&call).await.ok();
        let result = if success { json!({"success": true, "sha256": hash(to)}) } else { json!({"success": false}) };
        self.bench.node.result(&call, &result).await.ok();
    }

    /// The risk of overwriting the file while it holds this. The node finds that out by itself.
    async fn risk(&self, session: &str, path: &str, content: char) -> String {
        let call = self.wish(session, "tool_write_file", json!({"path": path, "content": "x"})).await;
        let preview = json!({"exists": true, "base_sha256": hash(content), "diff": "-a\n+x\n"});
        let call = self.bench.node.preview(&call, &preview).await.ok();
        call["risk"]["level"].as_str().unwrap().to_owned()
    }
}

fn write() -> Value {
    json!({"path": "notes.md", "content": "x"})
}

#[tokio::test]
async fn a_file_is_overwritten_at_high_risk_unless_the_agent_has_read_it_whole_as_it_is() {
    let world = World::new().await;
    let work = Work::new(&world).await;
    assert_eq!(work.risk("s", "notes.md", 'a').await, "HIGH");
    work.is_read("s", 'a', true).await;
    assert_eq!(work.risk("s", "notes.md", 'a').await, "HIGH", "it has seen a part");
    work.is_read("s", 'a', false).await;
    assert_eq!(work.risk("s", "notes.md", 'a').await, "MEDIUM");
    assert_eq!(work.risk("s", "notes.md", 'b').await, "HIGH", "somebody has changed it since");
    assert_eq!(work.risk("s", "other.md", 'a').await, "HIGH", "another file");
    assert_eq!(work.risk("other", "notes.md", 'a').await, "HIGH", "another session");
}

#[tokio::test]
async fn what_an_agent_wrote_itself_it_knows_until_somebody_else_changes_it() {
    let world = World::new().await;
    let work = Work::new(&world).await;
    work.is_changed("tool_write_file", write(), None, 'a', true).await;
    assert_eq!(work.risk("s", "notes.md", 'a').await, "MEDIUM");
    assert_eq!(work.risk("s", "notes.md", 'b').await, "HIGH", "somebody has changed it since");
    work.is_changed("tool_write_file", write(), Some('b'), 'c', false).await;
    assert_eq!(work.risk("s", "notes.md", 'c').await, "HIGH", "it tried, and nothing was written");
    assert_eq!(work.risk("other", "notes.md", 'a').await, "HIGH", "another session");
}

#[tokio::test]
async fn a_change_of_a_part_is_known_as_far_as_the_whole_was_before() {
    let world = World::new().await;
    let work = Work::new(&world).await;
    let edit = || json!({"path": "notes.md", "old": "a", "new": "b"});
    let append = || json!({"path": "notes.md", "content": "x", "mode": "append"});
    work.is_changed("tool_edit_file", edit(), Some('1'), '2', true).await;
    work.is_changed("tool_write_file", append(), Some('2'), '3', true).await;
    assert_eq!(work.risk("s", "notes.md", '3').await, "HIGH", "the rest was never seen");
    work.is_read("s", '1', false).await;
    assert_eq!(work.risk("s", "notes.md", '3').await, "MEDIUM", "what it read, and its own changes since");
    // A circle is no way back to anything.
    work.is_changed("tool_edit_file", edit(), Some('8'), '9', true).await;
    work.is_changed("tool_edit_file", edit(), Some('9'), '8', true).await;
    assert_eq!(work.risk("s", "notes.md", '8').await, "HIGH");
    work.is_changed("tool_write_file", append(), None, '5', true).await;
    assert_eq!(work.risk("s", "notes.md", '5').await, "MEDIUM", "it made the file");
}
