//! The terminal while the screen is open: taken over at the start, and put back however it ends.

use super::models::Event;
use crate::output;
use anyhow::{Context, Result};
use ratatui::DefaultTerminal;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use std::io::stdout;
use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// How long the thread of the keys goes without looking whether anybody still wants them.
const LOOK_EVERY: Duration = Duration::from_millis(250);

type Hook = Arc<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

pub(super) struct Screen {
    pub(super) terminal: DefaultTerminal,
    before: Hook,
}

impl Screen {
    pub(super) fn open(events: &UnboundedSender<Event>) -> Result<Self> {
        let terminal = Terminal::new(CrosstermBackend::new(stdout())).context("the terminal cannot be used")?;
        // From here on all is put back by `drop`.
        let screen = Self { terminal, before: Arc::from(std::panic::take_hook()) };
        set_hook(&screen.before, events.clone());
        enable_raw_mode().context("the terminal does not give its keys")?;
        // Pasted text is not keys: a `y` in it agrees to nothing.
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste).context("the terminal cannot be used")?;
        read_keys(events.clone());
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        put_back();
        // While it panics the hook cannot be changed.
        if !std::thread::panicking() {
            let before = self.before.clone();
            std::panic::set_hook(Box::new(move |panic| before(panic)));
        }
    }
}

fn put_back() {
    // Whoever took the terminal away has nothing left to put back.
    let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// A panic of the screen itself ends it: first the terminal is put back. One of a call's thread ends only that call, and is
/// shown as a note; written to the terminal it would lie across the screen.
fn set_hook(before: &Hook, events: UnboundedSender<Event>) {
    let (before, own) = (before.clone(), std::thread::current().id());
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == own {
            put_back();
            before(panic);
            return;
        }
        let why = panic.payload_as_str().unwrap_or_default();
        let place = panic.location().map(|place| format!(" ({place})")).unwrap_or_default();
        if events.send(Event::Note(format!("something went wrong inside: {why}{place}"))).is_err() {
            output::say(&panic.to_string());
        }
    }));
}

fn read_keys(events: UnboundedSender<Event>) {
    std::thread::spawn(move || {
        while !events.is_closed() {
            let read = match event::poll(LOOK_EVERY) {
                Ok(false) => continue,
                Ok(true) => event::read(),
                Err(error) => Err(error),
            };
            let event = match read {
                Ok(event::Event::Key(key)) => Event::Key(key),
                Ok(event::Event::Paste(text)) => Event::Paste(text),
                Ok(event::Event::Resize(width, height)) => Event::Size(width, height),
                Ok(_) => continue,
                // The terminal is gone.
                Err(_) => Event::End,
            };
            let is_last = matches!(event, Event::End);
            if events.send(event).is_err() || is_last {
                return;
            }
        }
    });
}
