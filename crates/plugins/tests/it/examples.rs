//! The plugin of the examples, as whoever tries it meets it.

use crate::scenes::{Scene, declared};
use domain::plugins::Reach;
use serde_json::json;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/dice_plugin.py");

#[tokio::test]
async fn the_example_throws_dice() {
    let command = ["python3", EXAMPLE].map(str::to_owned).to_vec();
    let scene = Scene::new(&[("dice", declared(Reach::Command(command), &["dice.*"]))]).await;
    let listing = scene.ready("dice").await;
    let names: Vec<&String> = listing.plugins["dice"].offers.tools.keys().collect();
    assert_eq!(names, ["dice.odds", "dice.roll"]);
    let cases = [
        ("dice.odds", json!({"dice": 2, "at_least": 7}), "58.3%", false),
        ("dice.odds", json!({"dice": 2}), "`at_least` is missing", true),
        ("dice.roll", json!({"dice": 3, "sides": 1}), "1, 1, 1", false),
        ("dice.roll", json!({"dice": 0}), "`dice` has to be a whole number from 1 to 100", true),
        ("dice.roll", json!({"dice": true}), "`dice` has to be a whole number from 1 to 100", true),
        ("dice.roll", json!({"__class__": 1}), "`__class__` is not known", true),
    ];
    for (tool, arguments, text, is_error) in cases {
        let outcome = scene.call_of("dice", tool, arguments, std::future::pending()).await.unwrap();
        assert_eq!((outcome.text.as_str(), outcome.is_error), (text, is_error), "{tool}");
    }
    scene.plugins.stop().await;
}
