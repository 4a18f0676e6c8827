//! The format as JSON Schema (2020-12), for editors and for people.

use super::shapes::{Fields, Shape, VARIABLE, Word};
use domain::money::Micros;
use serde_json::{Map, Value, json};

/// The schema of a whole file.
pub(crate) fn schema(root: &Shape) -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The configuration file of Longhouse",
    });
    if let (Some(object), Value::Object(body)) = (schema.as_object_mut(), of(root)) {
        object.extend(body);
        object.insert("type".to_owned(), json!(["object", "null"]));
    }
    schema
}

fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Fields(fields) => object(fields),
        Shape::Names { name, each, most } => json!({
            "type": ["object", "null"],
            "propertyNames": text(name),
            "additionalProperties": named(each),
            "maxProperties": most,
        }),
        Shape::List { each, least, most } => {
            json!({"type": "array", "items": of(each), "minItems": least, "maxItems": most})
        }
        Shape::Text(word) => with_type("string", text(word)),
        Shape::Id(word) => with_type(json!(["string", "integer"]), text(word)),
        Shape::Variable => with_type("string", text(&VARIABLE)),
        Shape::Integer { least, most } => json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::Money => json!({"type": "number", "minimum": 0, "maximum": Micros::MOST.as_usd()}),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Choice(words) => json!({"enum": words}),
        Shape::Either(shapes) => json!({"anyOf": shapes.iter().map(of).collect::<Vec<_>>()}),
    }
}

fn object(shape: &Fields) -> Value {
    let mut properties = Map::new();
    for field in shape.fields {
        let mut body = of(field.shape);
        body["description"] = json!(field.doc);
        properties.insert(field.name.to_owned(), body);
    }
    let required: Vec<_> = shape.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut body = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        body["required"] = json!(required);
    }
    if !shape.one_of.is_empty() {
        let groups = shape.one_of.iter().map(|group| group_of(group, shape.one_of));
        body["oneOf"] = json!(groups.collect::<Vec<_>>());
    }
    body
}

/// One group of keys is there, and nothing of the others.
fn group_of(group: &[&str], all: &[&[&str]]) -> Value {
    let others = all.iter().filter(|other| **other != group).flat_map(|other| other.iter());
    let absent: Vec<_> = others.map(|name| json!({"required": [name]})).collect();
    json!({"required": group, "not": {"anyOf": absent}})
}

/// A name may stand alone if nothing must be said below it.
fn named(each: &Shape) -> Value {
    let mut body = of(each);
    if matches!(each, Shape::Fields(fields) if fields.one_of.is_empty() && fields.fields.iter().all(|field| !field.required))
    {
        body["type"] = json!(["object", "null"]);
    }
    body
}

fn text(word: &Word) -> Value {
    json!({"pattern": word.pattern, "maxLength": word.longest})
}

fn with_type(kind: impl Into<Value>, mut body: Value) -> Value {
    body["type"] = kind.into();
    body
}
