//! What has its place where on the screen. One function says it for whoever draws and for whoever asks whether a card is to be
//! seen, so that nobody agrees to what was not drawn.

use super::models::View;
use ratatui::layout::{Constraint, Layout, Rect};

const HEADER_HEIGHT: u16 = 3;
const LIST_HEIGHT: u16 = 6;
/// The line that says how much more there is, and at least three rows of the card itself.
const CARD_HEIGHT_LEAST: u16 = 1 + 3;
/// Narrower, and its rows are a few letters each.
const CARD_WIDTH_LEAST: u16 = 20;
/// Below the lists it is to be read without being opened.
const PANE_WIDTH_LEAST: u16 = 40;

pub(super) struct Places {
    pub(super) header: Rect,
    /// All between header and footer.
    pub(super) middle: Rect,
    /// What waits, and what was made here.
    pub(super) lists: [Rect; 2],
    /// None where there is no room for it, or something else is looked at.
    pub(super) card: Option<Rect>,
    pub(super) footer: Rect,
}

pub(super) fn places(area: Rect, view: &View) -> Places {
    let notes = if area.height >= 20 { 2 } else { 1 };
    let header = if area.height >= 10 { HEADER_HEIGHT } else { 1 };
    let parts = Layout::vertical([Constraint::Length(header), Constraint::Min(0), Constraint::Length(notes + 1)]);
    let [header, middle, footer] = parts.areas(area);
    let (lists, card) = match view {
        View::Help => ([Rect::ZERO; 2], None),
        View::Card => ([Rect::ZERO; 2], Some(middle)),
        View::Lists | View::Reason(_) => lists(middle),
    };
    let card = card.filter(|card| card.width >= CARD_WIDTH_LEAST && card.height >= CARD_HEIGHT_LEAST);
    Places { header, middle, lists, card, footer }
}

/// Two lists and a card; without enough room for the card the lists have it all.
fn lists(area: Rect) -> ([Rect; 2], Option<Rect>) {
    let height = Constraint::Length(LIST_HEIGHT);
    let [waiting, made, pane] = Layout::vertical([height, height, Constraint::Min(0)]).areas(area);
    if area.width >= PANE_WIDTH_LEAST && pane.height >= CARD_HEIGHT_LEAST {
        return ([waiting, made], Some(pane));
    }
    (Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(area), None)
}
