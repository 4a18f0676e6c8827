//! Text that is too long to be handed on whole: its beginning, and how much is missing.

/// What a model is given of one result of a tool at most.
pub(crate) const RESULT_LARGEST_BYTES: usize = 64 * 1024;

/// Room for the note, whatever the number in it.
const NOTE_LONGEST: usize = 64;

/// At most so many bytes, the note among them, so that text which was cut once is not cut again. A limit that leaves no
/// room for the note beside it leaves the note alone.
pub(crate) fn bounded(text: String, most_bytes: usize) -> String {
    if text.len() <= most_bytes {
        return text;
    }
    let kept = text.floor_char_boundary(most_bytes.saturating_sub(NOTE_LONGEST));
    format!("{}\n[cut here: {} more bytes]", &text[..kept], text.len() - kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_left_alone() {
        for text in ["", "é", &"a".repeat(100)] {
            assert_eq!(bounded(text.to_owned(), 100), text);
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_between_characters_and_the_note_adds_up() {
        for character in ["a", "é", "€", "🦀"] {
            let text = character.repeat(1000);
            for most in 64..400 {
                let cut = bounded(text.clone(), most);
                assert!(cut.len() <= most, "{most}: {}", cut.len());
                let (kept, note) = cut.split_once('\n').unwrap();
                assert!(text.starts_with(kept) && most - kept.len() < NOTE_LONGEST + 4, "{most}: {}", kept.len());
                assert_eq!(note, format!("[cut here: {} more bytes]", text.len() - kept.len()));
                assert_eq!(bounded(cut.clone(), most), cut, "once is enough");
            }
        }
    }
}
