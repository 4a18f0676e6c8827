//! `longhouse connect --tui`: a full screen with what waits for its person and what happens on this machine.
//!
//! `models` decides, `drawing` draws, `cards` make text of what comes from elsewhere; here they are wired to the node, the house
//! and the terminal.

mod cards;
mod drawing;
mod layouts;
mod models;
mod pages;
mod people;
mod questions;
mod terminals;

use super::{Connection, Notice, Start, greetings, now, work};
use crate::cli::{Connect, Usage};
use anyhow::{Context, Result};
use models::{About, Effect, Event, Model};
use node::{Daemon, News};
use pages::Pages;
use people::Person;
use questions::Questions;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;
use terminals::Screen;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

#[cfg(test)]
pub(super) use models::tests::{NOW as ASKED_AT_MS, asked_here};

const DRAWN_EVERY: Duration = Duration::from_secs(1);

pub(super) fn require_terminal() -> Result<()> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Usage("--tui needs a terminal; without it a line is written for each call").into())
}

pub(super) async fn run(start: Start<'_>) -> Result<()> {
    let Start { place, options, server, root, state, identity, connection, hands } = start;
    let greeting = greetings::greeting(&identity, &hands, options);
    let one_line = |text: &str| cards::one_line(text);
    let about = About {
        node: identity.node.clone(),
        name: one_line(&identity.name),
        user: one_line(&identity.user),
        root: one_line(&root.display().to_string()),
        server: one_line(&server),
        vetoes: vetoes(options),
        greeting: greeting.iter().map(|line| one_line(line)).collect(),
        project: identity.project.clone(),
    };
    let person = Person::find(place, &server, &identity.user).await?;
    let (tell, events) = unbounded_channel();
    let questions = Questions::new(tell.clone(), now);
    let news = tell.clone();
    let asked = questions.clone();
    let tell_news = move |news_of: News| match news_of {
        News::MovedOn(call) => asked.move_on(&call),
        news_of => drop(news.send(Event::Notice(Notice::News(Box::new(news_of))))),
    };
    let daemon = Daemon::new(connection.clone(), hands, now, tell_news);
    let asking = questions.clone();
    let daemon = if options.ask_locally { daemon.asking(move |question| asking.ask(question)) } else { daemon };
    let daemon = Arc::new(daemon);
    let person = match person {
        Ok(person) => Some(Arc::new(person)),
        Err(how) => {
            let _ = tell.send(Event::NoApprovals(how));
            None
        }
    };
    let desk = Desk { tell: tell.clone(), questions, person, daemon: daemon.clone() };
    let notices = tell.clone();
    let tell_notice = move |notice| drop(notices.send(Event::Notice(notice)));
    let mut screen = Screen::open(&tell)?;
    tokio::select! {
        ended = work(&connection, &state, &daemon, tell_notice) => ended,
        ended = show(&mut screen, Model::new(about, now()), events, &desk) => ended,
        ended = desk.follow() => ended,
    }
}

fn vetoes(options: &Connect) -> String {
    let given =
        [(options.read_only, "read only"), (options.no_exec, "no commands"), (options.ask_locally, "asks here, too")];
    given.into_iter().filter_map(|(is_given, name)| is_given.then_some(name)).collect::<Vec<_>>().join(", ")
}

/// Draws, hears and acts until its person has enough.
async fn show(screen: &mut Screen, mut model: Model, mut events: UnboundedReceiver<Event>, desk: &Desk) -> Result<()> {
    let mut pages = Pages::default();
    let mut beat = tokio::time::interval(DRAWN_EVERY);
    let cannot_wait = "cannot wait for signals";
    let mut ended = signal(SignalKind::terminate()).context(cannot_wait)?;
    let mut hung_up = signal(SignalKind::hangup()).context(cannot_wait)?;
    loop {
        let drawn = screen.terminal.draw(|frame| drawing::draw(frame, &model, &mut pages));
        let area = drawn.context("the terminal is gone")?.area;
        // The size that was drawn for: what is shown is judged by that.
        model.update(Event::Size(area.width, area.height));
        model.selection.scroll_at_most(pages.last);
        let event = tokio::select! {
            event = events.recv() => event.unwrap_or(Event::End),
            _ = beat.tick() => Event::Clock(now()),
            _ = ended.recv() => Event::End,
            _ = hung_up.recv() => Event::End,
        };
        for effect in model.update(event) {
            if effect == Effect::Quit {
                return Ok(());
            }
            desk.act(effect);
        }
    }
}

/// Where effects become acts; what comes of them is told as events.
struct Desk {
    tell: UnboundedSender<Event>,
    questions: Arc<Questions>,
    person: Option<Arc<Person>>,
    daemon: Arc<Daemon<Connection>>,
}

impl Desk {
    /// Never ends.
    async fn follow(&self) -> Result<()> {
        match &self.person {
            Some(person) => person.follow(&self.tell).await,
            None => std::future::pending().await,
        }
    }

    fn act(&self, effect: Effect) {
        match effect {
            Effect::Approve { id, project, digest } => {
                self.ask(async move |person| person.approve(id, &project, &digest).await);
            }
            Effect::Reject { id, project, reason } => {
                self.ask(async move |person| person.reject(id, &project, reason.as_deref()).await);
            }
            Effect::LookUp { id } => self.ask(async move |person| person.look_up(&id).await),
            Effect::Answer { number, yes } => self.questions.answer(number, yes),
            Effect::Undo { call } => self.undo(call),
            Effect::Quit => {}
        }
    }

    fn ask<F, A>(&self, act: A)
    where
        A: FnOnce(Arc<Person>) -> F,
        F: Future<Output = Event> + Send + 'static,
    {
        let Some(person) = self.person.clone() else { return };
        let (tell, asked) = (self.tell.clone(), act(person));
        tokio::spawn(async move { tell.send(asked.await) });
    }

    fn undo(&self, call: String) {
        let (tell, daemon) = (self.tell.clone(), self.daemon.clone());
        tokio::spawn(async move {
            let told = match daemon.undo(&call).await {
                Ok(undone) if undone.sha256.is_none() => format!("{} is gone again", undone.path),
                Ok(undone) => format!("{} is as it was", undone.path),
                Err(error) => format!("not undone: {error}"),
            };
            tell.send(Event::Note(told))
        });
    }
}
