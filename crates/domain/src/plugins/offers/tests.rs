//! Listings of well-meaning, clumsy and hostile plugins, and what the house makes of them.

use super::*;
use crate::capabilities::{ToolSet, is_tool_name};
use proptest::prelude::*;
use serde_json::json;

fn rules(caps: &[&str], approval: &[&str]) -> Plugin {
    Plugin { caps: ToolSet::of(caps), approval: ToolSet::of(approval) }
}

fn listed(name: &str) -> Listed {
    let schema = json!({"type": "object"}).as_object().cloned().unwrap_or_default();
    Listed { name: name.to_owned(), description: Some(format!("Does {name}.")), schema }
}

fn all(names: &[&str]) -> Vec<Listed> {
    names.iter().map(|name| listed(name)).collect()
}

fn names(offers: &Offers) -> Vec<&str> {
    offers.tools.keys().map(String::as_str).collect()
}

fn obstacles(offers: &Offers) -> Vec<(&str, String)> {
    offers.left_out.iter().map(|left| (left.own_name.as_str(), left.obstacle.to_string())).collect()
}

#[test]
fn what_is_inside_the_grants_is_offered_and_the_rest_is_told() {
    let tools = all(&["k8s.get", "K8s.Delete", "terraform.apply", "größe", "k8s."]);
    let found = offers(&[("kubernetes", &rules(&["k8s.*"], &["k8s.delete"]), &tools)]);
    let own = &found["kubernetes"];
    assert_eq!(names(own), ["k8s.delete", "k8s.get"]);
    assert_eq!(own.tools["k8s.delete"].own_name, "K8s.Delete");
    assert!(own.tools["k8s.delete"].waits_for_a_person && !own.tools["k8s.get"].waits_for_a_person);
    let letters = "its name cannot be written in dotted words of a-z, 0-9 and `_`, at most 128 long";
    let expected = [
        ("terraform.apply", "`kubernetes.terraform.apply` is not in the plugin's `caps`"),
        ("größe", letters),
        ("k8s.", letters),
    ];
    assert_eq!(obstacles(own), expected.map(|(name, why)| (name, why.to_owned())));
}

#[test]
fn of_two_tools_with_one_name_neither_is_offered() {
    let tools = all(&["get-it", "get_it", "other", "twice", "twice", "twice"]);
    let found = offers(&[("p", &rules(&["p.*"], &[]), &tools)]);
    assert_eq!(names(&found["p"]), ["p.other"]);
    let told: Vec<&str> = obstacles(&found["p"]).into_iter().map(|(name, _)| name).collect();
    assert_eq!(told, ["get-it", "get_it", "twice", "twice", "twice"]);
}

#[test]
fn plugins_cannot_take_a_name_from_each_other() {
    let (one, two) = (all(&["k8s.get", "k8s.list"]), all(&["k8s.get", "helm"]));
    let granted = rules(&["k8s.*", "two.*"], &[]);
    let found = offers(&[("one", &granted, &one), ("two", &granted, &two)]);
    assert_eq!((names(&found["one"]), names(&found["two"])), (vec!["k8s.list"], vec!["two.helm"]));
    let told = "more than one tool would be called `k8s.get` (plugins: one, two)".to_owned();
    assert_eq!(obstacles(&found["one"]), [("k8s.get", told.clone())]);
    assert_eq!(obstacles(&found["two"]), [("k8s.get", told)]);
}

#[test]
fn nobody_takes_a_name_from_the_plugin_that_it_begins_with() {
    let bad = all(&["good.add", "good.more", "goods.add"]);
    let (granted, own) = (rules(&["good.*", "goods.*", "bad.*"], &[]), rules(&["good.*"], &[]));
    // Also while the other one is still starting.
    for good in [all(&["add"]), Vec::new()] {
        let found = offers(&[("bad", &granted, &bad), ("good", &own, &good)]);
        assert_eq!((found["good"].tools.len(), names(&found["bad"])), (good.len(), vec!["goods.add"]));
        let why = "`good.add` is a name of the plugin `good`".to_owned();
        assert_eq!(obstacles(&found["bad"])[0], ("good.add", why));
    }
}

#[test]
fn a_tool_that_may_not_be_called_takes_no_name_from_one_that_may() {
    let (one, two) = (all(&["k8s.get"]), all(&["k8s.get"]));
    let found = offers(&[("one", &rules(&["k8s.*"], &[]), &one), ("two", &rules(&["two.x"], &[]), &two)]);
    assert_eq!(names(&found["one"]), ["k8s.get"]);
    assert_eq!(names(&found["two"]), Vec::<&str>::new());
}

#[test]
fn hidden_words_are_shown_and_counted_in_the_fingerprint() {
    let plain = listed("get");
    let marked = Listed { description: Some("Does get.\u{200b}".to_owned()), ..plain.clone() };
    let granted = rules(&["*"], &[]);
    let found = offers(&[("a", &granted, &[plain]), ("b", &granted, &[marked])]);
    let (plain, marked) = (&found["a"].tools["a.get"], &found["b"].tools["b.get"]);
    assert_eq!(marked.description, "Does get.⟨U+200B⟩");
    assert_ne!(plain.fingerprint, marked.fingerprint);
    let mut unseen = listed("set");
    unseen.schema.insert("properties".to_owned(), json!({"a\u{200b}": {}}));
    let mut large = listed("put");
    large.schema.insert("description".to_owned(), json!("x".repeat(100_000)));
    let found = offers(&[("c", &granted, &[unseen, large])]);
    let told: Vec<_> = found["c"].left_out.iter().map(|left| &left.obstacle).collect();
    assert_eq!(told, [&Obstacle::HiddenInSchema, &Obstacle::SchemaTooLarge]);
}

#[test]
fn without_grants_nothing_is_offered() {
    let tools = all(&["get", "p.get", "*", "p.*"]);
    assert_eq!(names(&offers(&[("p", &rules(&[], &[]), &tools)])["p"]), Vec::<&str>::new());
}

proptest! {
    #[test]
    fn every_listed_tool_is_offered_once_or_told_and_no_name_is_offered_twice(
        one in proptest::collection::vec("[a-bA-B_.-]{0,4}|é", 0..8),
        two in proptest::collection::vec("[a-bA-B_.-]{0,4}|é", 0..8),
        caps in proptest::collection::vec("\\*|[a-b](\\.[a-b])?(\\.\\*)?", 0..3),
    ) {
        let texts = |names: &[String]| names.iter().map(|name| listed(name)).collect::<Vec<_>>();
        let patterns: Vec<&str> = caps.iter().map(String::as_str).collect();
        let (granted, first, second) = (rules(&patterns, &[]), texts(&one), texts(&two));
        let found = offers(&[("a", &granted, &first), ("b", &granted, &second)]);
        let mut seen = std::collections::BTreeSet::new();
        for (plugin, count) in [("a", one.len()), ("b", two.len())] {
            prop_assert_eq!(found[plugin].tools.len() + found[plugin].left_out.len(), count);
            for (name, offer) in &found[plugin].tools {
                prop_assert!(is_tool_name(name) && granted.caps.find(name).is_some());
                prop_assert_eq!(&offer.name, name);
                prop_assert!(seen.insert(name.clone()), "{} is offered twice", name);
            }
        }
    }
}
