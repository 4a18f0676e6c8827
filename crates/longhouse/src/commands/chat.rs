//! `longhouse chat`: a conversation with an agent. A client like any other: what is said goes in as a message, the answer
//! comes by the session's stream. Answers go to standard output, everything else to standard error.

mod input;
mod listening;
mod rooms;
mod screens;
mod turns;
mod words;

use crate::cli::{Chat as Options, Place};
use crate::client::{Client, Hosting};
use anyhow::Result;
use input::{Input, Next};
use rooms::Room;
use screens::Screen;
use std::io::IsTerminal;
use std::process::ExitCode;
use turns::{Outcome, Turn};
use words::Said;

/// What a demo's answers are marked with.
const DEMO: &str = "demo";

pub(super) async fn run(place: &Place, mut options: Options) -> Result<ExitCode> {
    let message = match options.message.as_slice() {
        [] => None,
        [one] if one == "-" => Some(super::input::value("-".to_owned())?),
        words => Some(words.join(" ")),
    };
    options.message.clear();
    let client = Client::connect(place, true).await?;
    // Without a server the house is open here for as long as the conversation lasts: others are let in.
    let hosting = match Hosting::of(&client, place) {
        Ok(hosting) => hosting,
        Err(error) => {
            client.close().await;
            return Err(error);
        }
    };
    let outcome = talk(&client, place.json, options, message).await;
    if let Some(hosting) = hosting {
        hosting.end().await;
    }
    outcome
}

async fn talk(client: &Client, json: bool, options: Options, message: Option<String>) -> Result<ExitCode> {
    let is_conversation = message.is_none() && std::io::stdin().is_terminal();
    let input = if message.is_some() { Input::nothing()? } else { Input::of_stdin(is_conversation)? };
    let room = Room::open(client, options).await?;
    let mut chat =
        Chat { room, input, screen: Screen::new(json), is_conversation, has_failed: false, knows_demo: false };
    chat.greet();
    let talked = match message {
        Some(text) => chat.tell(&text).await.map(drop),
        None => chat.converse().await,
    };
    chat.room.leave().await;
    talked?;
    if is_conversation && !chat.room.is_unused() {
        chat.screen.note(&format!("to go on with this: longhouse chat -s {}", chat.room.session()));
    }
    Ok(if chat.has_failed && !is_conversation { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

struct Chat<'c> {
    room: Room<'c>,
    input: Input,
    screen: Screen,
    /// A person at a terminal, who sees what went wrong and can do something else.
    is_conversation: bool,
    has_failed: bool,
    knows_demo: bool,
}

/// Whether the chat goes on.
#[derive(PartialEq)]
enum Flow {
    On,
    End,
}

impl Chat<'_> {
    fn greet(&mut self) {
        let about = format!("{}, session {}", self.room.agent_name(), self.room.session());
        let how = if self.is_conversation { "; /help lists what you can do, Ctrl-D ends" } else { "" };
        self.screen.note(&format!("{about}{how}"));
    }

    async fn converse(&mut self) -> Result<()> {
        loop {
            if self.is_conversation {
                self.screen.prompt(self.input.ahead());
            }
            let flow = match self.input.next().await {
                Next::End => {
                    self.screen.end_prompt(self.is_conversation);
                    Flow::End
                }
                Next::Unreadable => self.cannot("a line is not text, or longer than a message may be")?,
                Next::Line(line) => self.obey(words::parse(&line)).await?,
            };
            if flow == Flow::End {
                return Ok(());
            }
        }
    }

    async fn obey(&mut self, said: Said) -> Result<Flow> {
        match said {
            Said::Nothing => Ok(Flow::On),
            Said::Message(text) => self.tell(&text).await,
            Said::Quit => Ok(Flow::End),
            Said::Stop => {
                self.screen.note("nothing is being answered");
                Ok(Flow::On)
            }
            Said::Help => {
                self.screen.note(words::HELP);
                Ok(Flow::On)
            }
            Said::New => match self.room.begin_anew().await {
                Ok(()) => {
                    self.greet();
                    Ok(Flow::On)
                }
                Err(error) => self.cannot(&crate::output::chain(&error)),
            },
            Said::Agents => match self.room.listing().await {
                Ok(listing) => {
                    self.screen.note(&listing);
                    Ok(Flow::On)
                }
                Err(error) => self.cannot(&crate::output::chain(&error)),
            },
            Said::Agent(name) => match self.room.turn_to(&name).await {
                Ok(()) => {
                    self.screen.note(&format!("{} answers from now on", self.room.agent_name()));
                    Ok(Flow::On)
                }
                Err(error) => self.cannot(&crate::output::chain(&error)),
            },
            Said::Unknown(word) => self.cannot(&format!(
                "there is no {word}: /help lists what there is, a space before it makes it a message"
            )),
        }
    }

    /// In a script what follows would be said to somebody else, or without what it relies on.
    fn cannot(&mut self, why: &str) -> Result<Flow> {
        if !self.is_conversation {
            anyhow::bail!("{}", crate::output::visible(why));
        }
        self.screen.problem(why);
        Ok(Flow::On)
    }

    /// One message and what becomes of it.
    async fn tell(&mut self, text: &str) -> Result<Flow> {
        let outcome = Turn::run(&mut self.room, &mut self.screen, &mut self.input, text).await;
        self.has_failed |= outcome.has_failed();
        self.show(&outcome);
        let is_over = outcome.leaves || (outcome.is_lost && !self.is_conversation);
        self.has_failed |= outcome.leaves;
        Ok(if is_over { Flow::End } else { Flow::On })
    }

    fn show(&mut self, outcome: &Outcome) {
        self.screen.end_line();
        if self.screen.is_json() {
            return self.screen.json(&outcome.as_json(&self.room));
        }
        if let Some(error) = outcome.problem() {
            self.screen.problem(&error);
        }
        if let Some(figures) = outcome.figures() {
            self.screen.note(&figures);
        }
        if outcome.model() == Some(DEMO) && !self.knows_demo {
            self.knows_demo = true;
            self.screen.note(
                "this was the built-in demo, not a model: to connect one, start `longhouse serve` with OPENAI_API_KEY, \
                 ANTHROPIC_API_KEY or LONGHOUSE_OPENAI_BASE_URL set",
            );
        }
    }
}
