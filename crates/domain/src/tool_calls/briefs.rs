//! A call as lists have it: with no more of its texts than tells what it is. What was left out is said, and the whole is one
//! look away.

use super::ToolCall;
use serde_json::Value;

/// What a list has of one text at most, and of arguments or of a result in all.
const TEXT_LARGEST_BYTES: usize = 2 * 1024;
const VALUE_LARGEST_BYTES: usize = 8 * 1024;
/// What a value costs besides its text.
const VALUE_BYTES: usize = 8;

#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    pub call: ToolCall,
    /// Whether something was left out.
    pub cut: bool,
}

impl ToolCall {
    #[must_use]
    pub fn in_brief(mut self) -> Brief {
        let mut cut = cut_json(&mut self.wish.params);
        cut |= self.outcome.result.as_mut().is_some_and(cut_json);
        if let Some(preview) = self.judgement.as_mut().and_then(|judgement| judgement.preview.as_mut()) {
            let diff_cut = preview.diff.as_mut().is_some_and(cut_text);
            // Whoever looks at the diff alone is told, too.
            preview.diff_cut |= diff_cut;
            cut |= diff_cut;
        }
        Brief { call: self, cut }
    }
}

/// Leaves the beginning of a text; answers whether there was more.
pub fn cut_text(text: &mut String) -> bool {
    let is_long = text.len() > TEXT_LARGEST_BYTES;
    text.truncate(text.floor_char_boundary(TEXT_LARGEST_BYTES));
    is_long
}

fn cut_json(text: &mut String) -> bool {
    if text.len() <= VALUE_LARGEST_BYTES {
        return false;
    }
    let mut value = serde_json::from_str(text).unwrap_or(Value::Null);
    cut_value(&mut value, &mut VALUE_LARGEST_BYTES.clone());
    *text = value.to_string();
    true
}

fn cut_value(value: &mut Value, left: &mut usize) {
    *left = left.saturating_sub(VALUE_BYTES);
    match value {
        Value::String(text) => {
            text.truncate(text.floor_char_boundary(TEXT_LARGEST_BYTES.min(*left)));
            *left -= text.len();
        }
        Value::Array(values) => {
            let mut kept = Vec::new();
            for mut value in std::mem::take(values) {
                if *left == 0 {
                    break;
                }
                cut_value(&mut value, left);
                kept.push(value);
            }
            *values = kept;
        }
        Value::Object(fields) => {
            for (name, mut value) in std::mem::take(fields) {
                if name.len() < *left {
                    *left -= name.len();
                    cut_value(&mut value, left);
                    fields.insert(name, value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn brief(value: &Value) -> (bool, Value) {
        let mut text = value.to_string();
        let cut = cut_json(&mut text);
        assert!(text.len() <= 2 * VALUE_LARGEST_BYTES, "{}", text.len());
        (cut, serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn what_is_short_stays_whole_and_of_what_is_long_the_beginning_is_left() {
        let short = json!({"path": "a", "content": "x".repeat(5_000)});
        assert_eq!(brief(&short), (false, short));
        let (cut, found) = brief(&json!({"content": "ü".repeat(1_000_000), "path": "notes.md"}));
        assert_eq!((cut, &found["path"]), (true, &json!("notes.md")));
        assert_eq!(found["content"], "ü".repeat(1_024));
        let (cut, found) = brief(&json!({"program": "ls", "args": vec!["y"; 100_000], "deep": {"a": [1, null]}}));
        assert!(cut && found["args"].as_array().unwrap().len() < 1_000);
        let (cut, found) = brief(&json!({"k".repeat(50_000): 1, "z": 2}));
        assert_eq!((cut, found), (true, json!({"z": 2})));
    }
}
