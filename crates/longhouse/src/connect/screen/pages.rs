//! A card broken into rows of the screen's width. Kept while it is looked at, for some are long.

use super::cards::{Card, Row};
use unicode_width::UnicodeWidthChar;

#[derive(Default)]
pub(super) struct Pages {
    /// The card, its width, and its rows.
    broken: Option<(Card, usize, Vec<Row>)>,
    /// The last row that a window can begin with.
    pub(super) last: usize,
}

impl Pages {
    /// The rows of a window on the card.
    pub(super) fn window(&mut self, card: &Card, width: u16, height: u16, scroll: usize) -> &[Row] {
        let (width, height) = (usize::from(width), usize::from(height));
        let is_same = |(known, of, _): &(Card, usize, Vec<Row>)| std::sync::Arc::ptr_eq(known, card) && *of == width;
        if !self.broken.as_ref().is_some_and(is_same) {
            let rows = card.iter().flat_map(|row| broken(row, width)).collect();
            self.broken = Some((card.clone(), width, rows));
        }
        let rows = self.broken.as_ref().map_or(&[][..], |(_, _, rows)| rows);
        self.last = rows.len().saturating_sub(height);
        let first = scroll.min(self.last);
        &rows[first..rows.len().min(first + height)]
    }
}

/// Every character stays, in its order.
fn broken(row: &Row, width: usize) -> Vec<Row> {
    let mut rows = vec![Row { tint: row.tint, text: String::new() }];
    let mut used = 0;
    for c in row.text.chars() {
        let needed = c.width().unwrap_or(0);
        if used + needed > width && used > 0 {
            rows.push(Row { tint: row.tint, text: String::new() });
            used = 0;
        }
        used += needed;
        if let Some(last) = rows.last_mut() {
            last.text.push(c);
        }
    }
    rows
}

/// So much of a text as there is room for; that it was cut is seen.
pub(super) fn cut(text: &str, width: usize) -> String {
    let is_wider = |text: &str| text.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>() > width;
    if !is_wider(text) {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::cards::Tint;
    use super::*;
    use std::sync::Arc;

    #[test]
    fn long_rows_are_broken_and_nothing_is_lost() {
        for text in ["", "short", "exactly-ten", "日本語のとても長い文章です", "a\u{301}bc 👩\u{200d}💻 the end of it"]
        {
            for width in [1, 2, 5, 10] {
                let rows = broken(&Row { tint: Tint::Added, text: text.to_owned() }, width);
                let whole: String = rows.iter().map(|row| row.text.as_str()).collect();
                assert_eq!(whole, text);
                assert!(rows.iter().all(|row| row.tint == Tint::Added));
            }
        }
        let rows = broken(&Row { tint: Tint::Plain, text: "abcdef".to_owned() }, 4);
        assert_eq!(rows.iter().map(|row| row.text.as_str()).collect::<Vec<_>>(), ["abcd", "ef"]);
    }

    #[test]
    fn a_window_never_begins_below_the_end() {
        let card: Card = Arc::new((0..10).map(|number| Row { tint: Tint::Plain, text: number.to_string() }).collect());
        let mut pages = Pages::default();
        let shown = |rows: &[Row]| rows.iter().map(|row| row.text.clone()).collect::<String>();
        assert_eq!(shown(pages.window(&card, 5, 3, 0)), "012");
        assert_eq!(shown(pages.window(&card, 5, 3, usize::MAX)), "789");
        assert_eq!(pages.last, 7);
        assert_eq!(shown(pages.window(&card, 0, 0, 4)), "");
        assert_eq!(shown(pages.window(&card, 5, 30, 4)), "0123456789");
    }

    #[test]
    fn what_is_cut_off_a_line_is_seen_to_be() {
        assert_eq!(
            (cut("abcdef", 6), cut("abcdef", 4), cut("日本語", 4)),
            ("abcdef".into(), "abc…".into(), "日…".into())
        );
        assert_eq!((cut("abc", 0), cut("abc", 1), cut("", 0)), (String::new(), "…".into(), String::new()));
    }
}
