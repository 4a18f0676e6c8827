//! The printed schema says what the checks do.

use super::{SKILLS, Scene, WHOLE};
use crate::config::format::FILE;
use crate::config::nodes::{Kind, Node, Value as Tree};
use crate::config::shapes::Shape;
use crate::config::{parsing, schema};
use serde_json::{Value, json};

fn walk(shape: &'static Shape, visit: &mut dyn FnMut(&'static Shape)) {
    visit(shape);
    shape.inner().into_iter().for_each(|inner| walk(inner, visit));
}

#[test]
fn every_pattern_is_one_and_every_key_is_explained_in_one_sentence() {
    walk(&FILE, &mut |shape| match shape {
        Shape::Fields(fields) => {
            for field in fields.fields {
                assert!(field.doc.ends_with('.') && field.doc.len() >= 8, "{}: {}", field.name, field.doc);
            }
        }
        Shape::Names { name: word, .. } | Shape::Text(word) | Shape::Id(word) => {
            assert!(regex::Regex::new(word.pattern).is_ok(), "{}", word.pattern);
        }
        _ => {}
    });
}

/// Every key that the checks know is in the schema at the same place, with its sentence.
#[test]
fn every_key_of_the_format_is_in_the_schema() {
    fn compare(shape: &'static Shape, schema: &Value, keys: &mut usize) {
        match shape {
            Shape::Fields(fields) => {
                assert_eq!(schema["additionalProperties"], false);
                assert_eq!(schema["properties"].as_object().unwrap().len(), fields.fields.len());
                for field in fields.fields {
                    let below = &schema["properties"][field.name];
                    assert_eq!(below["description"], field.doc, "{}", field.name);
                    *keys += 1;
                    compare(field.shape, below, keys);
                }
            }
            Shape::Names { each, .. } => compare(each, &schema["additionalProperties"], keys),
            Shape::List { each, .. } => compare(each, &schema["items"], keys),
            Shape::Either(shapes) => {
                shapes.iter().enumerate().for_each(|(n, one)| compare(one, &schema["anyOf"][n], keys));
            }
            _ => assert!(schema["type"].is_string() || schema["type"].is_array() || schema["enum"].is_array()),
        }
    }
    let mut keys = 0;
    compare(&FILE, &schema(), &mut keys);
    assert!(keys > 80, "{keys}");
}

fn as_json(node: &Node) -> Value {
    match &node.value {
        Tree::List(elements) => elements.iter().map(as_json).collect(),
        Tree::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), as_json(&entry.value))).collect(),
        Tree::Scalar(scalar) => match scalar.kind {
            Kind::Null => Value::Null,
            Kind::Bool => json!(scalar.text == "true"),
            Kind::Integer => json!(scalar.text.parse::<i64>().unwrap()),
            Kind::Decimal => json!(scalar.text.parse::<f64>().unwrap()),
            Kind::Text => json!(scalar.text),
        },
    }
}

/// The words of JSON Schema that ours uses, and no others.
fn fits(value: &Value, schema: &Value) -> bool {
    let Some(rules) = schema.as_object() else { return schema.as_bool().unwrap_or_default() };
    let kind = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    };
    rules.iter().all(|(word, rule)| match (word.as_str(), value) {
        ("type", _) => match rule {
            Value::String(only) => kind(only),
            several => several.as_array().unwrap().iter().any(|one| kind(one.as_str().unwrap())),
        },
        ("enum", _) => rule.as_array().unwrap().contains(value),
        ("anyOf", _) => rule.as_array().unwrap().iter().any(|one| fits(value, one)),
        ("oneOf", _) => rule.as_array().unwrap().iter().filter(|one| fits(value, one)).count() == 1,
        ("not", _) => !fits(value, rule),
        ("required", Value::Object(map)) => {
            rule.as_array().unwrap().iter().all(|key| map.contains_key(key.as_str().unwrap()))
        }
        ("properties", Value::Object(map)) => {
            map.iter().all(|(key, value)| rule.get(key).is_none_or(|below| fits(value, below)))
        }
        ("additionalProperties", Value::Object(map)) => {
            let known = rules.get("properties").and_then(Value::as_object);
            map.iter()
                .filter(|(key, _)| known.is_none_or(|known| !known.contains_key(*key)))
                .all(|(_, value)| fits(value, rule))
        }
        ("propertyNames", Value::Object(map)) => map.keys().all(|key| fits(&json!(key), rule)),
        ("pattern", Value::String(text)) => regex::Regex::new(rule.as_str().unwrap()).unwrap().is_match(text),
        ("maxLength", Value::String(text)) => text.chars().count() as u64 <= rule.as_u64().unwrap(),
        ("items", Value::Array(list)) => list.iter().all(|one| fits(one, rule)),
        ("maxItems", Value::Array(list)) => list.len() as u64 <= rule.as_u64().unwrap(),
        ("minItems", Value::Array(list)) => list.len() as u64 >= rule.as_u64().unwrap(),
        ("maxProperties", Value::Object(map)) => map.len() as u64 <= rule.as_u64().unwrap(),
        ("minimum", Value::Number(number)) => number.as_f64() >= rule.as_f64(),
        ("maximum", Value::Number(number)) => number.as_f64() <= rule.as_f64(),
        ("$schema" | "title" | "description", _) => true,
        ("required" | "properties" | "additionalProperties" | "propertyNames" | "pattern" | "maxLength", _) => true,
        ("items" | "maxItems" | "minItems" | "maxProperties" | "minimum" | "maximum", _) => true,
        (other, _) => panic!("the schema uses {other}, which this test does not know"),
    })
}

#[test]
fn a_file_that_is_right_fits_the_schema_and_structural_mistakes_do_not() {
    let schema = schema();
    let value = |text: &str| as_json(&parsing::parse(text.as_bytes()).root.unwrap());
    Scene::new(WHOLE).with_skills(&SKILLS).accepted();
    assert!(fits(&value(WHOLE), &schema));
    assert!(fits(&value(super::FAMILY), &schema) && fits(&Value::Null, &schema));
    for wrong in [
        "usrs: {}",
        "users: [a]",
        "users: { A: {} }",
        "plugins: { p: { caps: [] } }",
        "plugins: { p: { caps: [], command: [x], url: \"http://a\" } }",
        "plugins: { p: { caps: [], command: [x], timeouts: { call_s: 0 } } }",
        "plugins: { p: { caps: [], command: [x], timeouts: { start_s: 3601 } } }",
        "plugins: { p: { caps: [], command: [x], timeouts: { stop_s: 1 } } }",
        "server: { rate_limit: fast }",
        "approvals: { high_timeout_s: 9 }",
        "approvals: { medium_timeout_s: 86401 }",
        "approvals: { denied_commands: [/usr/bin/curl] }",
        "approvals: { denied_commands: [\"curl x\"] }",
        "worker_space: { idle_timeout_s: 9 }",
        "alerts: { webhook: \"https://me:key@hooks.example/\" }",
        "workspaces: { w: { bindings: [{ channel: discord, guild_id: 1 }] } }",
        "workspaces: { w: { budget: { daily_usd: -1 } } }",
    ] {
        assert!(!fits(&value(wrong), &schema), "{wrong}");
    }
}
