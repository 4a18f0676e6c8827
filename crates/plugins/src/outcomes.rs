//! What a call answers: text, bounded. Other contents are told of and not passed on.

use rmcp::model::{CallToolResult, ContentBlock, ErrorData, ResourceContents};

const UNKNOWN: &str = "[something of a sort that is not known here; it is not passed on]";

/// What the plugin says is data of somebody else, whatever it looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub text: String,
    /// The tool says of itself that it failed.
    pub is_error: bool,
    /// There was more; the text says so, too.
    pub is_cut: bool,
}

impl Outcome {
    pub(crate) fn of(result: &CallToolResult, most: usize) -> Self {
        let mut text = Bounded { text: String::new(), most, is_cut: false };
        for (number, block) in result.content.iter().enumerate() {
            if number > 0 {
                text.push("\n");
            }
            text.push_block(block);
        }
        // Those who send both send the same twice.
        if result.content.is_empty()
            && let Some(value) = &result.structured_content
        {
            text.push(&value.to_string());
        }
        text.outcome(result.is_error == Some(true))
    }

    /// The plugin refuses in the protocol's own words, which a model may read as well as any other answer.
    pub(crate) fn of_refusal(error: &ErrorData, most: usize) -> Self {
        Self::failed(&format!("the plugin refused the call (code {}): {}", error.code.0, error.message), most)
    }

    pub(crate) fn failed(why: &str, most: usize) -> Self {
        let mut text = Bounded { text: String::new(), most, is_cut: false };
        text.push(why);
        text.outcome(true)
    }
}

struct Bounded {
    text: String,
    most: usize,
    is_cut: bool,
}

impl Bounded {
    fn push(&mut self, more: &str) {
        let room = self.most - self.text.len();
        let mut end = more.len().min(room);
        while !more.is_char_boundary(end) {
            end -= 1;
        }
        self.is_cut |= end < more.len();
        // After a cut nothing small may follow as if nothing were missing.
        self.most = if self.is_cut { self.text.len() + end } else { self.most };
        self.text.push_str(&more[..end]);
    }

    fn push_block(&mut self, block: &ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.push(&text.text),
            ContentBlock::Image(image) => self.push_note("an image", &image.mime_type, image.data.len()),
            ContentBlock::Audio(audio) => self.push_note("a sound", &audio.mime_type, audio.data.len()),
            ContentBlock::Resource(embedded) => match &embedded.resource {
                ResourceContents::TextResourceContents { text, .. } => self.push(text),
                ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
                    self.push_note("a file", mime_type.as_deref().unwrap_or("unknown"), blob.len());
                }
                _ => self.push(UNKNOWN),
            },
            ContentBlock::ResourceLink(_) => self.push("[a link to a resource; it is not followed]"),
            _ => self.push(UNKNOWN),
        }
    }

    fn push_note(&mut self, what: &str, kind: &str, bytes: usize) {
        let kind: String = kind.chars().filter(|letter| letter.is_ascii_graphic()).take(64).collect();
        self.push(&format!("[{what}, {kind}, {bytes} bytes as text; it is not passed on]"));
    }

    fn outcome(mut self, is_error: bool) -> Outcome {
        if self.is_cut {
            self.text.push_str("\n[the rest of the answer was too long and is cut off]");
        }
        Outcome { text: self.text, is_error, is_cut: self.is_cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome(result: serde_json::Value, most: usize) -> Outcome {
        Outcome::of(&serde_json::from_value(result).unwrap(), most)
    }

    #[test]
    fn texts_are_passed_and_everything_else_is_told_of() {
        let blocks = json!([
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAAAA", "mimeType": "audio/\nwav"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "AA"}},
            {"type": "resource_link", "uri": "http://169.254.169.254/", "name": "n"},
        ]);
        let expected = "one\n[an image, image/png, 4 bytes as text; it is not passed on]\n\
                        [a sound, audio/wav, 6 bytes as text; it is not passed on]\ntwo\n\
                        [a file, unknown, 2 bytes as text; it is not passed on]\n\
                        [a link to a resource; it is not followed]";
        let found = outcome(json!({"content": blocks, "structuredContent": {"x": 1}}), 1000);
        assert_eq!(found, Outcome { text: expected.to_owned(), is_error: false, is_cut: false });
        let structured = outcome(json!({"content": [], "structuredContent": {"x": 1}, "isError": true}), 1000);
        assert_eq!((structured.text.as_str(), structured.is_error), ("{\"x\":1}", true));
    }

    #[test]
    fn an_answer_is_cut_between_characters_and_says_so() {
        for (most, kept) in [(7, "größe"), (6, "größ"), (4, "gr\u{f6}"), (3, "gr"), (0, "")] {
            let found =
                outcome(json!({"content": [{"type": "text", "text": "größe"}, {"type": "text", "text": "x"}]}), most);
            let is_whole = most > 8;
            assert_eq!(found.is_cut, !is_whole, "{most}");
            assert!(found.text.starts_with(&format!("{kept}\n[the rest")), "{most}: {}", found.text);
        }
        let long = outcome(json!({"content": [{"type": "text", "text": "x".repeat(1_000_000)}]}), 1000);
        assert!(long.text.len() < 1100 && long.is_cut);
    }
}
