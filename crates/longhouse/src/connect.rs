//! `longhouse connect`: the node on a person's machine, and its connection to a house.

mod answers;
mod greetings;
mod houses;
mod identities;
mod kept;
mod lines;
mod listening;
mod screen;
mod states;
mod undoing;

pub(crate) use lines::object;
pub(crate) use undoing::run as undo;

use crate::cli::{Connect, Place};
use crate::client::wire::Address;
use crate::client::{Client, Refused};
use answers::Answers;
use anyhow::{Context, Result, bail};
use axum::body::Body;
use houses::Connection;
use identities::Identity;
use listening::{Listener, Pauses};
use node::commands::Launcher;
use node::{Daemon, Hands, News, Root, Setup, StateDirectory, Vetoes};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The hidden first word that makes this binary confine itself and become a program.
const CONFINED: &str = "--confined";
const SERVER: &str = "http://127.0.0.1:7700";

/// Confines this process and makes it another program, if it was started for that. Asked before anything else has begun.
pub(crate) fn become_program_if_told() -> Option<ExitCode> {
    if std::env::args_os().nth(1).is_none_or(|word| word != CONFINED) {
        return None;
    }
    match node::confinement::confine_and_exec() {
        Ok(never) => match never {},
        // Why, it has told whoever started it.
        Err(_) => Some(ExitCode::from(125)),
    }
}

/// What whoever watches is told.
#[derive(Debug)]
enum Notice {
    /// The house knows this node.
    LetIn,
    /// It hears what there is to do.
    Connected,
    /// It does not, and why; it tries again.
    Away(String),
    News(Box<News>),
}

/// A node before it begins.
struct Start<'a> {
    place: &'a Place,
    options: &'a Connect,
    server: String,
    root: PathBuf,
    state: StateDirectory,
    identity: Identity,
    connection: Connection,
    hands: Hands,
}

pub(crate) async fn run(place: &Place, options: &Connect) -> Result<ExitCode> {
    if options.tui {
        screen::require_terminal()?;
    }
    let server = server_of(place).await;
    let root = options.root.canonicalize().with_context(|| format!("there is no folder {}", options.root.display()))?;
    let state = states::state_dir(place, options, &root)?;
    // Before anything is made there.
    Root::open(&root)?.require_outside(&state)?;
    let state = StateDirectory::open(&state)?;
    let address = Address::new(&server, &format!("--server {server}"), place.ca_file.as_deref())?;
    let known = Identity::read(&state)?;
    if let Some(other) = known.as_ref().filter(|known| known.root != root) {
        bail!("this state directory belongs to {}: take another --state-dir", other.root.display());
    }
    // Before it pairs: a machine that could do nothing here is not to be on anybody's list.
    let hands = open_hands(options, &root, &state)?;
    let identity = match known {
        Some(identity) => identity,
        None => identities::pair(&address, place, options, &root, &state).await?,
    };
    let hands = hands.belonging_to(identity.of_node());
    let connection = Connection::new(address, identity.clone());
    let start = Start { place, options, server, root, state, identity, connection, hands };
    if options.tui {
        screen::run(start).await?;
    } else {
        run_quietly(start).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// With a line for each call.
async fn run_quietly(start: Start<'_>) -> Result<()> {
    let Start { options, root, state, identity, connection, hands, .. } = start;
    let greeting = greetings::greeting(&identity, &root, &hands, options);
    let tell = move |notice| lines::tell(&greeting, notice);
    let answers = Arc::new(Answers::new(std::io::stdin(), now));
    let asked = answers.clone();
    let tell_news = move |news: News| match &news {
        News::MovedOn(call) => asked.move_on(call),
        news => lines::tell_news(news),
    };
    let daemon = Daemon::new(connection.clone(), hands, now, tell_news);
    let daemon = if options.ask_locally { daemon.asking(move |question| answers.ask(question)) } else { daemon };
    let daemon = Arc::new(daemon);
    tokio::select! {
        ended = work(&connection, &state, &daemon, tell) => ended,
        ended = tokio::signal::ctrl_c() => ended.context("cannot wait for Ctrl-C"),
    }
}

/// All that a node does. Ends when the house does not want it any more.
async fn work(
    connection: &Connection,
    state: &StateDirectory,
    daemon: &Arc<Daemon<Connection>>,
    tell: impl Fn(Notice),
) -> Result<()> {
    sign_in(connection, &tell).await?;
    tell(Notice::LetIn);
    let ears = Ears { connection, ring: || daemon.ring(), tell: &tell };
    tokio::select! {
        () = daemon.clone().run() => Ok(()),
        ended = listening::listen(&ears) => ended.map(|never| match never {}),
        ended = undoing::answer(state, daemon.clone()) => ended,
    }
}

// A node has no `Ctx`: it is a process of its own.
#[allow(clippy::disallowed_methods)]
fn now() -> domain::times::Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    domain::times::Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The house that is named, else the one whose server runs in the data directory, else the usual place.
async fn server_of(place: &Place) -> String {
    if let Some(server) = &place.server {
        return server.clone();
    }
    let beside = match Client::to_server_of(place).await {
        Some(client) => client.address().await,
        None => None,
    };
    beside.unwrap_or_else(|| SERVER.to_owned())
}

fn open_hands(options: &Connect, root: &Path, state: &StateDirectory) -> Result<Hands> {
    let Connect { read_only, no_exec, allow_network, .. } = *options;
    let launcher = (!read_only && !no_exec).then(|| Launcher::this_binary(CONFINED));
    let vetoes = Vetoes { read_only, no_exec, allow_network };
    let identity = node::Identity::of_nobody();
    Ok(Hands::open(Setup { root, state, launcher, identity, vetoes, now: now() })?)
}

/// A house that is away for a moment is waited for; one that says no is not.
async fn sign_in(connection: &Connection, tell: &impl Fn(Notice)) -> Result<()> {
    let mut pauses = Pauses::default();
    loop {
        match connection.sign_in().await {
            Err(error) if !error.is::<Refused>() => tell(again(&error, pauses.next)),
            outcome => return outcome,
        }
        pauses.wait().await;
    }
}

/// Hears of what there is to do. Ends when the house does not want this node any more.
struct Ears<'a, R, T> {
    connection: &'a Connection,
    ring: R,
    tell: &'a T,
}

impl<R: Fn(), T: Fn(Notice)> Listener for Ears<'_, R, T> {
    async fn open(&self) -> Result<Body> {
        self.connection.stream().await
    }

    async fn opened(&self) -> Result<()> {
        (self.tell)(Notice::Connected);
        // Whatever was said while nobody listened.
        (self.ring)();
        Ok(())
    }

    async fn hear(&self, data: &str) -> Result<()> {
        if is_work(data) {
            (self.ring)();
        }
        Ok(())
    }

    fn lost(&self, why: Result<()>, pause: Duration) -> Result<()> {
        // What cut the stream has cut the others, too, whether they know it or not.
        self.connection.drop_kept();
        match why {
            Ok(()) => (self.tell)(Notice::Away("the connection was cut; trying again".to_owned())),
            Err(error) if is_shut_out(&error) => return Err(error).context("this machine was removed: pair it anew"),
            Err(error) => (self.tell)(again(&error, pause)),
        }
        Ok(())
    }
}

fn again(error: &anyhow::Error, pause: Duration) -> Notice {
    Notice::Away(format!("{error:#}; trying again in {} s", pause.as_secs().max(1)))
}

fn is_shut_out(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refused>().is_some_and(|refused| refused.code == "UNAUTHENTICATED")
}

/// Whether an event may mean that there is something to do.
fn is_work(data: &str) -> bool {
    let data: Value = serde_json::from_str(data).unwrap_or_default();
    match data["type"].as_str() {
        Some("TOOL_EXECUTION_SIGNAL" | "RESET") => true,
        // The last two end what may be asked about here.
        Some("TOOL_CALL_UPDATED") => {
            matches!(data["status"].as_str(), Some("proposed" | "cancelled" | "undelivered"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::kept::tests::{Counting, Manner};
    use super::*;
    use node::House;
    use std::cell::RefCell;

    #[tokio::test]
    async fn when_the_stream_is_lost_no_kept_connection_is_used_again() {
        let server = Counting::start(0, Manner::Keeps).await;
        let text = |text: &str| text.to_owned();
        let (project, root) = (Some(text("prj_1")), PathBuf::from("/"));
        let identity = Identity {
            node: text("nod_1"),
            name: text("desk"),
            key: text("k"),
            project,
            user: text("usr_owner"),
            root,
        };
        let connection = Connection::new(server.address.clone(), identity);
        let told = RefCell::new(Vec::new());
        let tell = |notice| told.borrow_mut().push(notice);
        let ears = Ears { connection: &connection, ring: || {}, tell: &tell };
        let reasons: [fn() -> Result<()>; 2] = [|| Ok(()), || bail!("no way there")];
        for (before, why) in reasons.into_iter().enumerate() {
            // It answers with a number, which is no list: here only the connections count.
            for _ in 0..3 {
                assert!(connection.open_calls().await.is_err());
                assert_eq!(server.count(), before + 1);
            }
            ears.lost(why(), Duration::from_secs(1)).unwrap();
        }
        assert!(connection.open_calls().await.is_err());
        assert_eq!(server.count(), 3);
        assert!(matches!(&told.borrow()[..], [Notice::Away(_), Notice::Away(again)] if again.contains("no way there")));
    }
}
