//! Characters that are there and not seen, or that change the order in which others are seen. What a person approves has to
//! look like what it is.

use crate::skills::hidden;

/// Format characters that have a place in some script, and a letter that looks like a blank: nobody would miss them in a
/// skill, but here they are asked about.
const ALSO_HIDDEN: &[(u32, u32)] = &[
    (0x0600, 0x0605),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x2800, 0x2800),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x16FE4, 0x16FE4),
];

/// Direction controls: they make a text look like another one.
const BIDIRECTIONAL: &[(u32, u32)] = &[(0x061C, 0x061C), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069)];

fn is_in(ranges: &[(u32, u32)], character: char) -> bool {
    let code = u32::from(character);
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

/// Stricter than for a skill: a carriage return lets a terminal write over what it has shown.
fn is_hidden(character: char) -> bool {
    character == '\r' || hidden::is_hidden(character) || is_in(ALSO_HIDDEN, character)
}

/// In a name also what breaks the line, and blanks that are not the one everybody types.
fn is_hidden_in_a_line(character: char) -> bool {
    is_hidden(character) || (character.is_whitespace() && character != ' ')
}

/// Each character of a text, and whether it is hidden. What holds an emoji together is seen: as the emoji.
fn judged(text: &str) -> impl Iterator<Item = (char, bool)> {
    let characters: Vec<char> = text.chars().collect();
    (0..characters.len()).map(move |at| {
        let character = characters[at];
        (character, is_hidden(character) && !hidden::holds_an_emoji_together(&characters, at))
    })
}

pub(super) fn first(text: &str) -> Option<char> {
    // Content may be ten megabytes, and mostly there is nothing to find.
    let suspect = text.chars().find(|character| is_hidden(*character))?;
    if suspect.is_ascii() {
        return Some(suspect);
    }
    judged(text).find_map(|(character, is_hidden)| is_hidden.then_some(character))
}

pub(super) fn first_in_a_line(text: &str) -> Option<char> {
    text.chars().find(|character| is_hidden_in_a_line(*character))
}

/// The character for people who cannot see it.
pub(super) fn described(character: char) -> String {
    let does = if is_in(BIDIRECTIONAL, character) {
        "changes the direction in which text is shown"
    } else if character.is_control() {
        "is a control character"
    } else {
        "is not seen"
    };
    format!("U+{:04X}, which {does}", u32::from(character))
}

/// The text with what is hidden in it written out, such as `\u{202E}`. A text that has these letters already looks the same:
/// that alarms without need, and hides nothing.
pub fn made_visible(text: &str) -> String {
    judged(text).fold(String::with_capacity(text.len()), written_out)
}

/// The same for a name: line breaks and unusual blanks are written out too.
pub fn made_visible_in_a_line(text: &str) -> String {
    let judged = text.chars().map(|character| (character, is_hidden_in_a_line(character)));
    judged.fold(String::with_capacity(text.len()), written_out)
}

fn written_out(mut shown: String, (character, is_hidden): (char, bool)) -> String {
    if is_hidden {
        shown.push_str(&format!("\\u{{{:04X}}}", u32::from(character)));
    } else {
        shown.push(character);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_seen_is_found_and_what_is_seen_is_not() {
        for hidden in [
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{ad}',
            '\u{61c}',
            '\u{2028}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{fe0f}',
            '\u{3164}',
            '\u{115f}',
            '\u{2800}',
            '\u{34f}',
            '\u{0}',
            '\u{1b}',
            '\r',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{8}',
        ] {
            assert!(is_hidden(hidden), "{hidden:?}");
        }
        for seen in ['a', ' ', '\n', '\t', 'é', '日', '🦀', '\u{a0}', '\u{3000}', 'א', '\u{301}', '\\'] {
            assert!(!is_hidden(seen), "{seen:?}");
        }
        for in_a_line in ['\n', '\t', '\u{a0}', '\u{3000}', '\u{202f}'] {
            assert!(is_hidden_in_a_line(in_a_line), "{in_a_line:?}");
        }
        assert!(!is_hidden_in_a_line(' '));
    }

    #[test]
    fn what_is_hidden_is_written_out() {
        assert_eq!(made_visible("a\u{202e}b\u{7}\n\tc\u{e0041}"), "a\\u{202E}b\\u{0007}\n\tc\\u{E0041}");
        assert_eq!(made_visible_in_a_line("a\nb c\u{a0}"), "a\\u{000A}b c\\u{00A0}");
        let ordinary = "ordinary 日本 🦀 ❤\u{fe0f} 👩\u{200d}💻";
        assert_eq!((made_visible(ordinary).as_str(), first(ordinary)), (ordinary, None));
        assert_eq!(made_visible_in_a_line("❤\u{fe0f}"), "❤\\u{FE0F}", "a name needs no pictures");
        assert_eq!(described('\u{202e}'), "U+202E, which changes the direction in which text is shown");
        assert_eq!(described('\u{1b}'), "U+001B, which is a control character");
        assert_eq!(described('\u{200b}'), "U+200B, which is not seen");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left_and_everything_seen_stays(text in any::<String>()) {
            let shown = made_visible(&text);
            prop_assert_eq!(first(&shown), None);
            prop_assert_eq!(first(&text).is_none(), shown == text);
            prop_assert_eq!(first_in_a_line(&made_visible_in_a_line(&text)), None);
        }
    }
}
