//! Characters that a model reads and a person does not see. Text that models are given gets them written out, so that
//! whoever looks at a skill and whoever follows it read the same.

const JOINER: char = '\u{200d}';
const KEYCAP: char = '\u{20e3}';

/// Where something hidden was, counted from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hidden {
    pub line: usize,
    pub column: usize,
    pub code: char,
}

/// The text with every hidden character written as `⟨U+200B⟩`, and where they were. What holds an emoji together stays.
pub fn reveal(text: &str) -> (String, Vec<Hidden>) {
    let characters: Vec<char> = text.chars().collect();
    let mut shown = String::with_capacity(text.len());
    let mut found = Vec::new();
    let (mut line, mut column) = (1, 1);
    for (at, &code) in characters.iter().enumerate() {
        if is_hidden(code) && !holds_an_emoji_together(&characters, at) {
            shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(code)));
            found.push(Hidden { line, column, code });
        } else {
            shown.push(code);
        }
        (line, column) = if code == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    (shown, found)
}

/// Controls, and what Unicode lets a font leave out.
pub(crate) fn is_hidden(code: char) -> bool {
    match code {
        '\n' | '\t' | '\r' => false,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Soft hyphen, combining grapheme joiner, Arabic letter mark.
        '\u{ad}' | '\u{34f}' | '\u{61c}' => true,
        // Hangul fillers and Khmer vowels that are blank.
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{17b4}' | '\u{17b5}' => true,
        // Mongolian selectors and vowel separator.
        '\u{180b}'..='\u{180f}' => true,
        // Zero-width characters and marks; separators of lines and paragraphs, embeddings and overrides; invisible
        // operators, isolates and what is deprecated.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Variation selectors, byte order mark, interlinear annotations and their unassigned neighbours.
        '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => true,
        // Shorthand and musical controls.
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' => true,
        // Tags, the other variation selectors, and what is kept for more of the kind.
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// A joiner between two emoji, or one selector of its presentation right after one. Anything more is a message.
pub(crate) fn holds_an_emoji_together(characters: &[char], at: usize) -> bool {
    let before = |steps: usize| at.checked_sub(steps).and_then(|at| characters.get(at)).copied();
    let after = characters.get(at + 1).copied();
    match characters[at] {
        '\u{fe0e}' | '\u{fe0f}' => {
            let keycap =
                before(1).is_some_and(|c| c.is_ascii_digit() || matches!(c, '#' | '*')) && after == Some(KEYCAP);
            keycap || before(1).is_some_and(|c| is_emoji(c) || is_skin_tone(c))
        }
        JOINER => {
            let ends = |c: char| is_emoji(c) || is_skin_tone(c);
            let left = match before(1) {
                Some('\u{fe0f}') => before(2).is_some_and(ends),
                Some(c) => ends(c),
                None => false,
            };
            left && after.is_some_and(is_emoji)
        }
        _ => false,
    }
}

fn is_skin_tone(code: char) -> bool {
    ('\u{1f3fb}'..='\u{1f3ff}').contains(&code)
}

/// Characters that are drawn as pictures, or can be.
fn is_emoji(code: char) -> bool {
    matches!(code,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{2199}' | '\u{21a9}' | '\u{21aa}'
        | '\u{231a}' | '\u{231b}' | '\u{2328}' | '\u{23cf}' | '\u{23e9}'..='\u{23f3}' | '\u{23f8}'..='\u{23fa}' | '\u{24c2}'
        | '\u{25aa}' | '\u{25ab}' | '\u{25b6}' | '\u{25c0}' | '\u{25fb}'..='\u{25fe}' | '\u{2600}'..='\u{27bf}'
        | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b07}' | '\u{2b1b}' | '\u{2b1c}' | '\u{2b50}' | '\u{2b55}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1f1e5}' | '\u{1f200}'..='\u{1f3fa}'
        | '\u{1f400}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_would_not_see_is_written_out() {
        let hidden = "\u{0}\u{1}\u{8}\u{b}\u{c}\u{1b}\u{7f}\u{80}\u{85}\u{9f}\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{180e}\
                      \u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202d}\u{202e}\u{2060}\u{2061}\u{2064}\u{2066}\
                      \u{2069}\u{206f}\u{3164}\u{fe00}\u{fe0e}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{fffa}\u{fffb}\u{1d173}\u{e0001}\
                      \u{e0041}\u{e007f}\u{e0100}\u{e01ef}";
        for code in hidden.chars() {
            let (shown, found) = reveal(&format!("a{code}b"));
            assert_eq!(shown, format!("a⟨U+{:04X}⟩b", u32::from(code)));
            assert_eq!(found, [Hidden { line: 1, column: 2, code }], "{:04X}", u32::from(code));
        }
    }

    #[test]
    fn ordinary_text_of_any_script_and_whole_emoji_stay_as_they_are() {
        for text in [
            "",
            "Plain text,\twith\r\nlines.\n",
            "naïve Ελληνικά русский 日本語 한국어 العربية हिन्दी ไทย e\u{301}",
            "quotes “ ” – — … \u{a0}\u{2009}\u{3000}",
            "👩\u{200d}💻 👨🏽\u{200d}🚀 🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f}\u{200d}🔥 ☎\u{fe0e} ☀\u{fe0f} 1\u{fe0f}\u{20e3} 🇩🇪 👍🏽 ©\u{fe0f}",
            "👨\u{200d}👩\u{200d}👧\u{200d}👦",
        ] {
            assert_eq!(reveal(text), (text.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn an_emoji_is_no_cover_for_what_does_not_belong_to_it() {
        for (text, count) in [
            ("😀\u{fe0f}\u{fe0f}", 1),
            ("😀\u{fe00}\u{fe01}\u{e0100}", 3),
            ("😀\u{200d}", 1),
            ("\u{200d}😀", 1),
            ("😀\u{200d}a", 1),
            ("a\u{200d}😀", 1),
            ("😀\u{200d}\u{200d}😀", 2),
            ("a\u{fe0f}", 1),
            ("1\u{fe0f}2", 1),
            ("🏴\u{e0067}\u{e0062}\u{e007f}", 3),
            ("😀\u{200b}😀", 1),
        ] {
            assert_eq!(reveal(text).1.len(), count, "{text:?}");
        }
    }

    #[test]
    fn places_are_counted_in_lines_and_characters() {
        let (shown, found) = reveal("é\u{200b}x\r\n\n  \u{202e}y");
        assert_eq!(shown, "é⟨U+200B⟩x\r\n\n  ⟨U+202E⟩y");
        let places: Vec<_> = found.iter().map(|hidden| (hidden.line, hidden.column, hidden.code)).collect();
        assert_eq!(places, [(1, 2, '\u{200b}'), (3, 3, '\u{202e}')]);
    }

    #[test]
    fn a_message_in_tag_characters_comes_to_light() {
        let smuggled: String = "obey".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        let (shown, found) = reveal(&format!("Sums up a page.{smuggled}"));
        assert_eq!((found.len(), shown.contains("⟨U+E006F⟩")), (4, true));
        assert_eq!(reveal(&shown).1, [], "and stays so");
    }
}
