//! Whether the arguments of a call fit the schema that was accepted with its tool.
//!
//! A schema is text of somebody else, and so it is read by a small reader of its own: types, properties, bounds, lists of values,
//! combinations and references within the schema. No patterns are run and nothing is fetched. What it does not know it leaves
//! to the plugin; what it cannot follow it refuses.

use crate::{Refusal, Result};
use serde_json::{Map, Value};

const DEEPEST: usize = 64;
/// Combinations may ask about one value many times over.
const STEPS_MOST: usize = 20_000;

/// Refuses arguments that do not fit, and says where.
pub fn check_arguments(schema: &Map<String, Value>, arguments: &Map<String, Value>) -> Result<()> {
    let root = Value::Object(schema.clone());
    let mut look = Look { root: &root, steps: 0 };
    let found = look.fits(&root, &Value::Object(arguments.clone()), "arguments", DEEPEST);
    found.map_err(|misfit| Refusal::invalid(misfit.0))
}

struct Misfit(String);

type Fits = std::result::Result<(), Misfit>;

fn misfit(place: &str, what: impl std::fmt::Display) -> Fits {
    Err(Misfit(format!("`{place}` {what}")))
}

struct Look<'a> {
    root: &'a Value,
    steps: usize,
}

/// How many entries are compared with each other.
const COMPARED_MOST: usize = 1_000;

impl Look<'_> {
    fn fits(&mut self, schema: &Value, value: &Value, place: &str, deeper: usize) -> Fits {
        self.steps += 1;
        let Some(deeper) = deeper.checked_sub(1).filter(|_| self.steps <= STEPS_MOST) else {
            return misfit(place, "cannot be checked: the tool's schema leads in circles, or there is too much of it");
        };
        let schema = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Object(schema) => schema,
            _ => return misfit(place, "is not wanted"),
        };
        if let Some(reference) = schema.get("$ref") {
            let root = self.root;
            let meant = reference.as_str().and_then(|text| text.strip_prefix('#')).and_then(|path| root.pointer(path));
            let Some(meant) = meant else { return misfit(place, "cannot be checked: its schema is not here") };
            self.fits(meant, value, place, deeper)?;
        }
        is_of_type(schema, value, place)?;
        is_one_of(schema, value, place)?;
        is_within(schema, value, place)?;
        self.combines(schema, value, place, deeper)?;
        match value {
            Value::Object(fields) => self.has_fields(schema, fields, place, deeper),
            Value::Array(items) => self.has_items(schema, items, place, deeper),
            _ => Ok(()),
        }
    }

    fn has_fields(
        &mut self,
        schema: &Map<String, Value>,
        fields: &Map<String, Value>,
        place: &str,
        deeper: usize,
    ) -> Fits {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in required {
            if !fields.contains_key(name) {
                return misfit(place, format_args!("has to have `{name}`"));
            }
        }
        let known = schema.get("properties").and_then(Value::as_object);
        // Names by pattern are the plugin's to check.
        let others = schema.get("additionalProperties").filter(|_| !schema.contains_key("patternProperties"));
        for (name, value) in fields {
            let below = format!("{place}.{name}");
            match (known.and_then(|known| known.get(name)), others) {
                (Some(own), _) => self.fits(own, value, &below, deeper)?,
                (None, Some(Value::Bool(false))) => return misfit(&below, "is not known to the tool"),
                (None, Some(other)) => self.fits(other, value, &below, deeper)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn has_items(&mut self, schema: &Map<String, Value>, items: &[Value], place: &str, deeper: usize) -> Fits {
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (number, item) in items.iter().enumerate() {
            if let Some(each) = first.get(number).or_else(|| schema.get("items")) {
                self.fits(each, item, &format!("{place}[{number}]"), deeper)?;
            }
        }
        let is_repeated = |(number, item): (usize, &Value)| items[..number].contains(item);
        if schema.get("uniqueItems") != Some(&Value::Bool(true)) {
            return Ok(());
        }
        if items.len() > COMPARED_MOST {
            return misfit(place, "has too many entries to compare them with each other");
        }
        if items.iter().enumerate().any(is_repeated) { misfit(place, "has the same entry twice") } else { Ok(()) }
    }

    fn combines(&mut self, schema: &Map<String, Value>, value: &Value, place: &str, deeper: usize) -> Fits {
        let of = |name: &str| schema.get(name).and_then(Value::as_array);
        for every in of("allOf").into_iter().flatten() {
            self.fits(every, value, place, deeper)?;
        }
        for (name, once) in [("anyOf", false), ("oneOf", true)] {
            let Some(choices) = of(name) else { continue };
            let fitting = choices.iter().filter(|choice| self.fits(choice, value, place, deeper).is_ok()).count();
            if fitting == 0 || (once && fitting > 1) {
                return misfit(place, "is in none of the forms that the tool takes");
            }
        }
        match schema.get("not") {
            Some(not) if self.fits(not, value, place, deeper).is_ok() => {
                misfit(place, "is in a form that the tool does not take")
            }
            _ => Ok(()),
        }
    }
}

fn is_of_type(schema: &Map<String, Value>, value: &Value, place: &str) -> Fits {
    let wanted: Vec<&str> = match schema.get("type") {
        None => return Ok(()),
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        Some(one) => one.as_str().into_iter().collect(),
    };
    let is = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => {
            value.as_i64().is_some()
                || value.as_u64().is_some()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    };
    if wanted.iter().any(is) {
        Ok(())
    } else {
        misfit(place, format_args!("has to be of type {}", wanted.join(" or ")))
    }
}

fn is_one_of(schema: &Map<String, Value>, value: &Value, place: &str) -> Fits {
    let among = schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(value));
    let same = schema.get("const").is_none_or(|only| only == value);
    if among && same { Ok(()) } else { misfit(place, "is none of the values that the tool takes") }
}

fn is_within(schema: &Map<String, Value>, value: &Value, place: &str) -> Fits {
    let count = |length: usize| f64::from(u32::try_from(length).unwrap_or(u32::MAX));
    let (measured, bounds) = match value {
        Value::Number(number) => (number.as_f64(), ["minimum", "maximum"]),
        Value::String(text) => (Some(count(text.chars().count())), ["minLength", "maxLength"]),
        Value::Array(items) => (Some(count(items.len())), ["minItems", "maxItems"]),
        Value::Object(fields) => (Some(count(fields.len())), ["minProperties", "maxProperties"]),
        Value::Null | Value::Bool(_) => return Ok(()),
    };
    let Some(measured) = measured else { return Ok(()) };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let least = bound(bounds[0]).is_none_or(|least| measured >= least);
    let most = bound(bounds[1]).is_none_or(|most| measured <= most);
    let above = !value.is_number() || bound("exclusiveMinimum").is_none_or(|least| measured > least);
    let below = !value.is_number() || bound("exclusiveMaximum").is_none_or(|most| measured < most);
    if least && most && above && below { Ok(()) } else { misfit(place, "is smaller or larger than the tool takes") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: &Value, arguments: &Value) -> std::result::Result<(), String> {
        check_arguments(schema.as_object().unwrap(), arguments.as_object().unwrap()).map_err(|refusal| refusal.message)
    }

    #[test]
    fn arguments_fit_or_are_refused_with_the_place_where_they_do_not() {
        let dice = json!({"type": "object", "additionalProperties": false, "required": ["dice"], "properties": {
            "dice": {"type": "integer", "minimum": 1, "maximum": 20},
            "mood": {"enum": ["calm", "wild"]},
            "names": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2, "uniqueItems": true},
            "share": {"type": "number", "exclusiveMinimum": 0},
            "place": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/point"}]},
        }, "$defs": {"point": {"type": "object", "required": ["x"], "properties": {"x": {"type": ["number", "null"]}}}}});
        let good = [
            json!({"dice": 1}),
            json!({"dice": 3.0}),
            json!({"dice": 20, "mood": "wild", "names": ["a", "büö"], "share": 0.1, "place": "here"}),
            json!({"dice": 20, "place": {"x": null, "y": 1}}),
        ];
        for arguments in &good {
            assert_eq!(check(&dice, arguments), Ok(()), "{arguments}");
        }
        let bad = [
            (json!({}), "`arguments` has to have `dice`"),
            (json!({"dice": "1"}), "`arguments.dice` has to be of type integer"),
            (json!({"dice": 1.5}), "`arguments.dice` has to be of type integer"),
            (json!({"dice": 0}), "`arguments.dice` is smaller or larger"),
            (json!({"dice": 21}), "`arguments.dice` is smaller or larger"),
            (json!({"dice": 1, "more": 1}), "`arguments.more` is not known"),
            (json!({"dice": 1, "mood": "Wild"}), "`arguments.mood` is none of the values"),
            (json!({"dice": 1, "names": ["abcd"]}), "`arguments.names[0]` is smaller or larger"),
            (json!({"dice": 1, "names": ["a", "a"]}), "`arguments.names` has the same entry twice"),
            (json!({"dice": 1, "share": 0}), "`arguments.share` is smaller or larger"),
            (json!({"dice": 1, "place": {"y": 1}}), "`arguments.place` is in none of the forms"),
        ];
        for (arguments, expected) in &bad {
            let found = check(&dice, arguments).unwrap_err();
            assert!(found.starts_with(expected), "{arguments}: {found}");
        }
    }

    #[test]
    fn a_schema_that_leads_in_circles_or_elsewhere_lets_nothing_through_and_holds_nobody_up() {
        let circle = json!({"$ref": "#"});
        assert!(check(&circle, &json!({})).unwrap_err().contains("circles"));
        let elsewhere = json!({"properties": {"a": {"$ref": "https://example.com/schema"}}});
        assert!(check(&elsewhere, &json!({"a": 1})).unwrap_err().contains("not here"));
        // Small to write down, and a million ways to go.
        let mut definitions = json!({"d0": {"const": 1}});
        for number in 1..=20 {
            let before = json!({"$ref": format!("#/$defs/d{}", number - 1)});
            definitions[format!("d{number}")] = json!({"anyOf": [before, before]});
        }
        let wide = json!({"properties": {"a": {"$ref": "#/$defs/d20"}}, "$defs": definitions});
        assert!(check(&wide, &json!({"a": 2})).is_err());
        let all_different = json!({"properties": {"a": {"uniqueItems": true}}});
        assert!(check(&all_different, &json!({"a": vec![0; COMPARED_MOST + 1]})).unwrap_err().contains("too many"));
    }

    #[test]
    fn what_is_not_known_here_is_left_to_the_plugin() {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "(a+)+$", "format": "date"}}});
        assert_eq!(check(&schema, &json!({"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "b": 1})), Ok(()));
        assert_eq!(check(&json!({}), &json!({"anything": [1, {}]})), Ok(()));
    }
}
