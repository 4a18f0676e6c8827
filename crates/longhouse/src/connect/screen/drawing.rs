//! The screen as it looks. It only reads the model.

#[cfg(test)]
mod tests;

use super::cards::{Card, Tint, Waiting, one_line};
use super::layouts::{Places, places};
use super::models::{Focus, Link, Model, View};
use super::pages::{Pages, cut};
use domain::times::Timestamp;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

const HELP: [&str; 11] = [
    "Up Down j k   choose; in a card: scroll      PgUp PgDn g G   scroll the card",
    "Tab           the other list                 Enter Esc       the card in full, and back",
    "              Nothing is chosen before you choose it, and nothing takes the place of what is gone.",
    "y             agree to what is chosen and shown; HIGH wants a second y",
    "n             disagree; you may say why, Enter sends it",
    "u             undo the chosen call of this machine, if nobody changed the file since",
    "q Ctrl-C      end; what waits goes on waiting",
    "",
    "What is approved is what is shown here: the digest is sent along, and the machine checks it again.",
    "The first answer stands, whoever gives it.",
    "",
];

pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, pages: &mut Pages) {
    let Places { header, middle, lists, card, footer } = places(frame.area(), &model.view);
    draw_header(frame, header, model);
    match &model.view {
        View::Help => draw_help(frame, middle, model),
        View::Card if card.is_none() => frame.render_widget("make the terminal larger", middle),
        View::Card => {}
        View::Lists | View::Reason(_) => draw_lists(frame, lists, model),
    }
    if let Some(area) = card {
        draw_card(frame, area, model, pages);
    }
    draw_footer(frame, footer, model);
}

fn draw_header(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let about = &model.about;
    let (state, style) = match (&model.stopped, &model.link) {
        (Some(why), _) => (format!("every call is refused: {why}"), Style::new().fg(Color::Red)),
        (None, Link::Connected) => ("connected".to_owned(), Style::new().fg(Color::Green)),
        (None, Link::Away(why)) => (why.clone(), Style::new().fg(Color::Yellow)),
    };
    let name = Span::styled(format!("{} for {}  ", about.name, about.user), Modifier::BOLD);
    let vetoes = if about.vetoes.is_empty() { "no vetoes" } else { &about.vetoes };
    let lines = vec![
        Line::from(vec![name, Span::styled(state, style)]),
        Line::from(format!("{}  at {}", about.root, about.server)),
        Line::styled(vetoes, Modifier::DIM),
    ];
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_lists(frame: &mut Frame<'_>, [waiting, made]: [Rect; 2], model: &Model) {
    let stale = model.no_approvals.as_deref().filter(|_| !model.waiting.is_empty());
    let stale = stale.map(|why| format!(" - {why}")).unwrap_or_default();
    let title = format!("Waiting for you ({}){stale}", model.waiting.len());
    let rows = model.waiting.iter().map(|waiting| entry(model, waiting)).collect();
    draw_list(frame, waiting, model, Focus::Waiting, &title, rows);
    let rows = model.made.iter().map(|made| Entry {
        id: &made.id,
        text: format!("{}: {}", made.title, made.state),
        style: Style::new(),
    });
    draw_list(frame, made, model, Focus::Made, "On this machine", rows.collect());
}

/// A row of a list.
struct Entry<'m> {
    id: &'m str,
    text: String,
    style: Style,
}

fn entry<'m>(model: &Model, waiting: &'m Waiting) -> Entry<'m> {
    let left = waiting.expires_at.map_or_else(|| "-:--".to_owned(), |end| countdown(model.now, end));
    let style = match waiting.risk.as_str() {
        "MEDIUM" => Style::new().fg(Color::Yellow),
        _ => Style::new().fg(Color::Red),
    };
    let state = if waiting.is_answered { " (answered)" } else { "" };
    Entry { id: &waiting.id, text: format!("{:<6} {left:>5} {}{state}", waiting.risk, waiting.title), style }
}

/// What is left, in minutes and seconds.
fn countdown(now: Timestamp, end: Timestamp) -> String {
    let left_s = (end.as_ms() - now.as_ms()).max(0) / 1000;
    format!("{}:{:02}", left_s / 60, left_s % 60)
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, model: &Model, list: Focus, title: &str, entries: Vec<Entry<'_>>) {
    let mark = if model.selection.focus == list { Modifier::BOLD | Modifier::UNDERLINED } else { Modifier::BOLD };
    let width = usize::from(area.width);
    let mut lines = vec![Line::styled(cut(title, width), mark)];
    if entries.is_empty() {
        let why = model.no_approvals.as_deref().filter(|_| list == Focus::Waiting).unwrap_or("nothing yet");
        lines.push(Line::styled(why, Modifier::DIM));
    }
    let chosen = model.selection.of(list);
    let at = entries.iter().position(|entry| Some(entry.id) == chosen);
    let room = usize::from(area.height.saturating_sub(1));
    // The chosen one is always to be seen.
    let first = at.map_or(0, |at| (at + 1).saturating_sub(room));
    for (number, entry) in entries.into_iter().enumerate().skip(first).take(room) {
        let is_chosen = at == Some(number);
        let text = cut(&format!("{} {}", if is_chosen { '>' } else { ' ' }, entry.text), width);
        let style = if is_chosen { entry.style.add_modifier(Modifier::BOLD) } else { entry.style };
        lines.push(Line::styled(text, style));
    }
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
}

fn draw_card(frame: &mut Frame<'_>, area: Rect, model: &Model, pages: &mut Pages) {
    let card: Option<&Card> = match model.selection.focus {
        Focus::Waiting => model.selected_waiting().map(|waiting| &waiting.card),
        Focus::Made => model.selected_made().map(|made| &made.card),
    };
    let Some(card) = card else {
        return frame.render_widget(Line::styled("nothing is chosen: Up and Down choose", Modifier::DIM), area);
    };
    let rows = pages.window(card, area.width, area.height.saturating_sub(1), model.selection.scroll);
    let mut lines: Vec<Line<'_>> = rows.iter().map(|row| Line::styled(row.text.clone(), style(row.tint))).collect();
    let (above, below) = (model.selection.scroll.min(pages.last), pages.last.saturating_sub(model.selection.scroll));
    let more = format!("-- {above} rows above, {below} below --");
    lines.insert(0, Line::styled(cut(&more, usize::from(area.width)), Modifier::DIM));
    frame.render_widget(Paragraph::new(lines), area);
}

fn style(tint: Tint) -> Style {
    match tint {
        Tint::Plain => Style::new(),
        Tint::Heading => Style::new().add_modifier(Modifier::BOLD),
        Tint::Added => Style::new().fg(Color::Green),
        Tint::Removed => Style::new().fg(Color::Red),
        Tint::Place => Style::new().fg(Color::Cyan),
        Tint::Warning => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
    }
}

fn draw_help(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let help = HELP.iter().map(|line| Line::from(*line));
    let lines: Vec<Line<'_>> = help.chain(model.about.greeting.iter().map(|line| Line::from(line.as_str()))).collect();
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
}

fn draw_footer(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let width = usize::from(area.width);
    let room = usize::from(area.height.saturating_sub(1));
    let mut lines: Vec<Line<'_>> =
        model.notes.iter().take(room).rev().map(|note| Line::from(cut(note, width))).collect();
    lines.resize(room, Line::default());
    let keys = match (&model.view, model.selected_waiting().filter(|_| model.selection.focus == Focus::Waiting)) {
        (View::Reason(text), _) => format!("why not? (Enter sends, Esc goes back) {}", one_line(text)),
        (View::Help, _) => "q ends, any other key goes back".to_owned(),
        (_, Some(waiting)) if waiting.not_offered.is_some() => {
            "n disagree (a yes is not offered)  ? help  q end".to_owned()
        }
        (_, Some(waiting)) if model.is_armed(waiting) => "y AGREE  any other key: not yet".to_owned(),
        (_, Some(_)) => "y agree  n disagree  Enter card  Tab list  ? help  q end".to_owned(),
        (_, None) => "Up Down choose  u undo a call  Enter card  Tab list  ? help  q end".to_owned(),
    };
    let keys = if matches!(model.view, View::Reason(_)) { tail(&keys, width) } else { cut(&keys, width) };
    lines.push(Line::styled(keys, Modifier::REVERSED));
    frame.render_widget(Paragraph::new(lines), area);
}

/// The end of what is typed is what counts.
fn tail(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width { text.to_owned() } else { text.chars().skip(count - width).collect() }
}
