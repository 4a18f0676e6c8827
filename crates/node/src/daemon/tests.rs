//! What a node without room on its disk says. What it does with one is in `tests/it`.

use super::*;
use crate::checks::{Identity, Vetoes};
use crate::hands::Setup;
use crate::journal::FullDisk;
use crate::{StateDirectory, hands};
use protocol::tool_calls::Preview;
use serde_json::json;

fn start_of_time() -> Timestamp {
    Timestamp::from_ms(0)
}

/// A house that asks what one call would do, again and again.
#[derive(Clone, Default)]
struct Asking(Arc<Mutex<Vec<Preview>>>);

impl House for Asking {
    async fn open_calls(&self) -> Result<Vec<ToolCall>, HouseError> {
        let call = json!({
            "id": "call_1", "tool": "tool_write_file", "params": {"path": "a", "content": "x"}, "status": "proposed",
            "consumed": false, "attempt": 0, "project": "prj_1", "agent": "coder", "agent_id": "agt_1",
            "on_behalf_of": "usr_mary", "node": "nod_1", "created_at": start_of_time()
        });
        Ok(vec![serde_json::from_value(call).unwrap()])
    }

    /// As its name says.
    async fn status_of(&self, _: &str, call: &str) -> Result<String, HouseError> {
        match call.trim_start_matches("call_") {
            "gone" => Err(no("TOOL_CALL_NOT_FOUND")),
            "forbidden" => Err(no("FORBIDDEN")),
            "unheard" => Err(HouseError::Unreachable("the line is cut".to_owned())),
            status => Ok(status.to_owned()),
        }
    }

    async fn preview(&self, _: &ToolCall, preview: &Preview) -> Result<(), HouseError> {
        self.0.lock().unwrap().push(preview.clone());
        Ok(())
    }

    async fn accept(&self, _: &ToolCall, _: &AcceptCall) -> Result<(), HouseError> {
        Err(no("CALL_MOVED_ON"))
    }

    async fn result(&self, _: &ToolCall, _: &CallResult) -> Result<(), HouseError> {
        Err(no("CALL_MOVED_ON"))
    }
}

fn no(code: &str) -> HouseError {
    HouseError::Refused { code: code.to_owned(), message: "no".to_owned() }
}

impl Asking {
    /// Why the node would refuse, as it was told last.
    async fn told_by(&self, daemon: &Arc<Daemon<Self>>) -> Option<String> {
        let before = self.0.lock().unwrap().len();
        daemon.look().await.unwrap();
        while self.0.lock().unwrap().len() == before || !daemon.in_hand.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.0.lock().unwrap().last().unwrap().refusal.clone().map(|refusal| refusal.code)
    }
}

fn daemon(
    folder: &tempfile::TempDir,
    house: &Asking,
    tell: impl Fn(News) + Send + Sync + 'static,
) -> Arc<Daemon<Asking>> {
    let (root, state) = (folder.path().join("work"), StateDirectory::open(&folder.path().join("state")).unwrap());
    std::fs::create_dir(&root).unwrap();
    let identity = Identity { node: "nod_1".to_owned(), user: None, project: None };
    let vetoes = Vetoes::default();
    let setup = Setup { root: &root, state: &state, launcher: None, identity, vetoes, now: start_of_time() };
    Arc::new(Daemon::new(house.clone(), hands::Hands::open(setup).unwrap(), start_of_time, tell))
}

#[tokio::test]
async fn a_node_without_room_says_so_once_refuses_and_goes_on_by_itself_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let (house, said) = (Asking::default(), Arc::new(Mutex::new(Vec::new())));
    let hears = said.clone();
    let tell = move |news| {
        if let News::Stopped(why) = news {
            hears.lock().unwrap().push(why);
        }
    };
    let daemon = daemon(&folder, &house, tell);
    assert_eq!(house.told_by(&daemon).await, None);

    let disk = daemon.hands.with_journal(|journal| {
        let disk = FullDisk::under(journal);
        assert!(journal.intent("call_0", 1, "tool_read_file", 0).is_err());
        disk
    });
    for _ in 0..3 {
        assert_eq!(house.told_by(&daemon).await.as_deref(), Some("JOURNAL_STOPPED"));
    }
    let whys = said.lock().unwrap().clone();
    assert!(matches!(&whys[..], [Some(why)] if why.contains("the journal cannot be written")), "{whys:?}");

    disk.has_room_again();
    assert_eq!(house.told_by(&daemon).await, None);
    assert_eq!(said.lock().unwrap()[1..], [None]);
}

#[tokio::test]
async fn a_call_in_hand_has_moved_on_when_the_house_says_so_and_not_because_a_list_was_full() {
    let folder = tempfile::tempdir().unwrap();
    let (house, said) = (Asking::default(), Arc::new(Mutex::new(Vec::new())));
    let hears = said.clone();
    let tell = move |news| {
        if let News::MovedOn(call) = news {
            hears.lock().unwrap().push(call);
        }
    };
    let daemon = daemon(&folder, &house, tell);
    let listed = house.open_calls().await.unwrap().remove(0);
    assert!(daemon.take(&listed) && !daemon.take(&listed));
    for unlisted in ["cancelled", "undelivered", "gone", "dispatched", "accepted", "running", "forbidden"] {
        assert!(daemon.take(&ToolCall { id: format!("call_{unlisted}"), ..listed.clone() }));
    }
    daemon.look().await.unwrap();
    said.lock().unwrap().sort();
    assert_eq!(*said.lock().unwrap(), ["call_cancelled", "call_gone", "call_undelivered"]);
    daemon.in_hand.lock().unwrap().clear();
    assert!(daemon.take(&ToolCall { id: "call_unheard".to_owned(), ..listed }));
    daemon.look().await.unwrap();
    assert_eq!(said.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_disk_that_hangs_keeps_no_thread_waiting_that_others_need() {
    let folder = tempfile::tempdir().unwrap();
    let house = Asking::default();
    let daemon = daemon(&folder, &house, |_| {});
    let call = house.open_calls().await.unwrap().remove(0);
    let ((holds, held), (write, is_written)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
    let disk = std::thread::spawn({
        let daemon = daemon.clone();
        move || {
            daemon.hands.with_journal(|_| {
                holds.send(()).unwrap();
                let _ = is_written.recv_timeout(Duration::from_secs(5));
            });
        }
    });
    held.recv().unwrap();
    // Each of them on the one thread that there is, which goes on to this sleep.
    let acts: [Act; 5] = [
        |daemon, _| Box::pin(async move { daemon.look().await }),
        |daemon, call| Box::pin(async move { daemon.begin(call).await }),
        |daemon, call| Box::pin(async move { daemon.go_on(call).await }),
        |daemon, call| Box::pin(async move { daemon.accepted(&call).await }),
        |daemon, call| Box::pin(async move { daemon.report(&call, Outcome::unknown()).await }),
    ];
    for (number, act) in acts.into_iter().enumerate() {
        tokio::spawn(act(daemon.clone(), call.clone()));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!disk.is_finished(), "act {number} had everybody wait for the disk");
    }
    write.send(()).unwrap();
    disk.join().unwrap();
}

type Act = fn(Arc<Daemon<Asking>>, ToolCall) -> Acting;
type Acting = std::pin::Pin<Box<dyn Future<Output = Result<(), HouseError>> + Send>>;

#[tokio::test]
async fn nobody_is_asked_where_commands_are_off_or_nothing_can_be_put_down() {
    let folder = tempfile::tempdir().unwrap();
    let house = Asking::default();
    let daemon = daemon(&folder, &house, |_| {});
    let write = house.open_calls().await.unwrap().remove(0);
    let (tool, params) = ("tool_execute_command".to_owned(), json!({"program": "true", "args": []}));
    let command = ToolCall { tool, params, ..write.clone() };
    let asked_about = |call| daemon.hands.question_about(call, start_of_time()).map(|question| question.is_some());
    assert_eq!(asked_about(&write), Ok(true));
    assert_eq!(asked_about(&command).unwrap_err().code, "COMMANDS_OFF");
    let disk = daemon.hands.with_journal(|journal| {
        let disk = FullDisk::under(journal);
        assert!(journal.intent("call_0", 1, "tool_read_file", 0).is_err());
        disk
    });
    assert_eq!(asked_about(&write).unwrap_err().code, "JOURNAL_STOPPED");
    disk.has_room_again();
    assert_eq!(asked_about(&write), Ok(true));
}
