//! Whispers: parts of an answer on its way, shown to whoever may see the session and kept nowhere.

use super::workshop::Workshop;
use domain::events::{Earshot, Whisper};
use domain::ids::{ProjectId, SessionId, WorkspaceId};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Events, StreamEvent};

const PLANS: &str = "/sessions/plans/events?workspace=team";
const GARDEN: &str = "/my/projects/garden/events";
const MINE: &str = "/my/events";

/// A session in the garden, and a second project beside it with a session of its own.
struct Scene {
    workshop: Workshop,
    plans: Earshot,
    prunings: Earshot,
}

impl Scene {
    async fn new() -> Self {
        let workshop = Workshop::new().await;
        let (world, ann) = (&workshop.world, &workshop.ann);
        let orchard = json!({"name": "orchard", "workspace": "team"});
        let orchard = world.post("/my/projects", &orchard).by(ann).send().await.ok();
        for (id, project) in [("plans", "garden"), ("prunings", "orchard")] {
            world.post("/sessions", &json!({"id": id, "project": project})).by(ann).send().await.ok();
        }
        let earshot = |session: &str, project: &Value| Earshot {
            workspace: WorkspaceId::parse("team").unwrap(),
            project: Some(ProjectId::parse(project["id"].as_str().unwrap()).unwrap()),
            session: SessionId::parse(session).unwrap(),
        };
        let (plans, prunings) = (earshot("plans", &workshop.project), earshot("prunings", &orchard));
        Self { workshop, plans, prunings }
    }

    async fn stream(&self, token: &str, path: &str, after: Option<u64>) -> Events {
        let ask = self.workshop.world.get(path).by(token);
        match after {
            Some(id) => ask.header("last-event-id", &id.to_string()).stream().await,
            None => ask.stream().await,
        }
    }

    fn say(&self, earshot: &Earshot, text: &str) {
        let house = &self.workshop.world.house;
        house.store().whisper(earshot, || {
            let fields = json!({"text": text}).as_object().cloned().unwrap();
            Whisper::new(earshot, Whisper::MESSAGE_DELTA, house.now(), fields)
        });
    }

    async fn write(&self, key: &str) {
        self.workshop.world.write(&self.workshop.ann, "plans", key, "x").await;
    }
}

/// The next thing shown, by its text or its key.
async fn next(events: &mut Events) -> String {
    named(&events.next().await.expect("the stream goes on"))
}

fn named(event: &StreamEvent) -> String {
    let name = if event.is_numbered { &event.data["key"] } else { &event.data["text"] };
    name.as_str().expect("a name").to_owned()
}

/// Lets a stream that is read in the same thread get to where it waits.
async fn ready(events: &mut Events) {
    assert!(tokio::time::timeout(Duration::from_millis(50), events.next()).await.is_err(), "nothing was said yet");
}

#[tokio::test]
async fn what_is_whispered_in_a_session_is_shown_on_its_stream_its_projects_and_its_members_and_nowhere_else() {
    let scene = Scene::new().await;
    let Workshop { world, bea, cy, .. } = &scene.workshop;
    world.session(cy, "plans", json!({})).await;
    for path in [PLANS, GARDEN, MINE] {
        let mut events = scene.stream(bea, path, None).await;
        scene.say(&scene.plans, "Hel");
        let event = events.next().await.expect("it goes on");
        assert!(!event.is_numbered, "{path}");
        assert_eq!((event.kind.as_str(), &event.data["type"]), ("MESSAGE_DELTA", &json!("MESSAGE_DELTA")));
        let told = ["workspace", "project", "session", "text"].map(|name| event.data[name].clone());
        let project = scene.plans.project.as_ref().unwrap().as_str();
        assert_eq!(told, [json!("team"), json!(project), json!("plans"), json!("Hel")], "{path}");
        assert!(event.data["at"].as_str().unwrap().ends_with('Z'));
    }
    let strangers = [
        (cy, MINE, "a stranger's"),
        (cy, "/sessions/plans/events", "of another session with that id"),
        (bea, "/my/projects/orchard/events", "of another project"),
        (bea, "/sessions/prunings/events", "of another session"),
    ];
    for (token, path, whose) in strangers {
        let mut events = scene.stream(token, path, None).await;
        ready(&mut events).await;
        scene.say(&scene.plans, "Hel");
        assert!(tokio::time::timeout(Duration::from_millis(100), events.next()).await.is_err(), "{whose}");
    }
    let mut mine = scene.stream(bea, MINE, None).await;
    scene.say(&scene.prunings, "of all projects");
    assert_eq!(next(&mut mine).await, "of all projects");
}

#[tokio::test]
async fn whispers_are_shown_in_their_place_and_take_no_number() {
    let scene = Scene::new().await;
    for path in [PLANS, GARDEN, MINE] {
        let mut events = scene.stream(&scene.workshop.bea, path, None).await;
        ready(&mut events).await;
        let mut numbers = Vec::new();
        for round in 0..20 {
            let (key, text) = (format!("key_{round}"), format!("before {round}"));
            scene.say(&scene.plans, &text);
            scene.write(&key).await;
            assert_eq!(next(&mut events).await, text, "{path}");
            let event = events.next().await.unwrap();
            assert_eq!(named(&event), key);
            numbers.push(event.id);
            scene.say(&scene.plans, "after");
            assert_eq!(next(&mut events).await, "after", "{path}");
        }
        let gaps = numbers.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
        assert_eq!(gaps, 0, "{path}: {numbers:?}");
    }
}

#[tokio::test]
async fn who_resumes_gets_every_event_once_and_no_whisper_of_before() {
    let scene = Scene::new().await;
    let ann = &scene.workshop.ann;
    let mut events = scene.stream(ann, PLANS, None).await;
    scene.write("one").await;
    scene.say(&scene.plans, "a");
    assert_eq!((next(&mut events).await, next(&mut events).await), ("one".to_owned(), "a".to_owned()));
    drop(events);
    scene.say(&scene.plans, "unheard");
    scene.write("two").await;
    scene.say(&scene.plans, "unheard");
    let mut again = scene.stream(ann, PLANS, Some(1)).await;
    let event = again.next().await.unwrap();
    assert_eq!((named(&event).as_str(), event.id), ("two", 2));
    scene.say(&scene.plans, "b");
    assert_eq!(next(&mut again).await, "b", "though the log was read since the last event was told");
}

#[tokio::test]
async fn a_house_that_was_opened_again_whispers_to_who_resumes() {
    let Scene { workshop, plans, prunings } = Scene::new().await;
    workshop.world.write(&workshop.ann, "plans", "one", "x").await;
    let Workshop { world, ann, bea, cy, project } = workshop;
    let workshop = Workshop { world: world.reopened().await, ann, bea, cy, project };
    let scene = Scene { workshop, plans, prunings };
    for path in [PLANS, GARDEN, MINE] {
        let mut events = scene.stream(&scene.workshop.ann, path, Some(0)).await;
        assert_eq!(next(&mut events).await, "one");
        scene.say(&scene.plans, "a");
        assert_eq!(next(&mut events).await, "a", "{path}");
    }
}

#[tokio::test]
async fn a_flood_of_whispers_costs_a_slow_reader_no_event() {
    let scene = Scene::new().await;
    for (path, first) in [(PLANS, 1), (GARDEN, 6), (MINE, 11)] {
        let mut events = scene.stream(&scene.workshop.bea, path, None).await;
        ready(&mut events).await;
        for round in 0..5 {
            (0..2_000).for_each(|number| scene.say(&scene.plans, &format!("{number}")));
            scene.write(&format!("key_{round}")).await;
        }
        scene.say(&scene.plans, "the end");
        let (mut keys, mut numbers, mut whispers) = (Vec::new(), Vec::new(), 0);
        loop {
            let event = events.next().await.unwrap();
            match named(&event).as_str() {
                "the end" => break,
                key if event.is_numbered => {
                    keys.push(key.to_owned());
                    numbers.push(event.id);
                }
                _ => whispers += 1,
            }
        }
        assert_eq!(keys, ["key_0", "key_1", "key_2", "key_3", "key_4"], "{path}");
        assert!(whispers < 1_000, "{path}: {whispers} were kept for it");
        if path == PLANS {
            assert_eq!(numbers, (first..first + 5).collect::<Vec<_>>());
        }
    }
}

#[tokio::test]
async fn who_is_no_member_any_more_hears_nothing_not_even_what_was_said_before() {
    for path in [PLANS, GARDEN, MINE] {
        let scene = Scene::new().await;
        let bea = &scene.workshop.bea;
        let mut events = scene.stream(bea, path, None).await;
        ready(&mut events).await;
        scene.say(&scene.plans, "waits for a reader");
        scene.workshop.world.leave("team", "bea").await;
        scene.say(&scene.plans, "said to others");
        if path == MINE {
            // It goes on with what is still theirs.
            scene.workshop.world.session(bea, "diary", json!({})).await;
            scene.workshop.world.write(bea, "diary", "own", "x").await;
            assert_eq!(next(&mut events).await, "own");
        } else {
            assert_eq!(events.next().await, None, "{path}");
        }
    }
}

#[tokio::test]
async fn a_selection_of_keys_lets_whispers_pass_as_whatever_has_no_key() {
    let scene = Scene::new().await;
    let mut events = scene.stream(&scene.workshop.ann, "/sessions/plans/events?keys=wanted", None).await;
    ready(&mut events).await;
    scene.write("other").await;
    scene.say(&scene.plans, "a");
    scene.write("wanted").await;
    assert_eq!((next(&mut events).await, next(&mut events).await), ("a".to_owned(), "wanted".to_owned()));
}
