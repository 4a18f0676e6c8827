//! An imitation of model providers, in this process: both protocols over real connections, with all their faults.
//!
//! It answers from a script, else by what it is asked, else by repeating the last words of the user. It checks nothing
//! that a provider would check; what it was asked, the test reads from [`ImitatedProvider::requests`].

mod anthropic;
mod connections;
mod openai;
mod records;
mod turns;

pub use records::ModelRequest;
pub use turns::{Fault, Turn};

use records::Records;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const PATIENCE: Duration = Duration::from_secs(10);

type Rule = Box<dyn Fn(&ModelRequest) -> Option<Turn> + Send + Sync>;

/// Ends with the value: its address then refuses connections.
pub struct ImitatedProvider {
    address: SocketAddr,
    house: Arc<House>,
    listening: JoinHandle<()>,
}

/// What the connections share.
pub(crate) struct House {
    script: Mutex<VecDeque<Turn>>,
    rules: Mutex<Vec<Rule>>,
    records: watch::Sender<Records>,
    is_blocked: watch::Sender<bool>,
}

impl ImitatedProvider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let house = Arc::new(House {
            script: Mutex::default(),
            rules: Mutex::default(),
            records: watch::Sender::new(Records::default()),
            is_blocked: watch::Sender::new(false),
        });
        let listening = tokio::spawn(connections::listen(listener, house.clone()));
        Self { address, house, listening }
    }

    /// The base URL for a provider of the kind `openai`.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The base URL for a provider of the kind `anthropic`.
    pub fn anthropic_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next answer that no rule gives is this text.
    pub fn say(&self, text: &str) {
        self.script(vec![Turn::say(text)]);
    }

    /// The next answers, in this order, after those that were scripted already.
    pub fn script(&self, turns: Vec<Turn>) {
        self.house.script.lock().expect("the script").extend(turns);
    }

    /// How many scripted answers nobody has asked for yet.
    pub fn unsaid(&self) -> usize {
        self.house.script.lock().expect("the script").len()
    }

    /// Every request like this is answered like this, whatever the script says. The first rule that fits counts.
    pub fn matching(&self, is_meant: impl Fn(&ModelRequest) -> bool + Send + Sync + 'static, turn: Turn) {
        self.answering(move |request| is_meant(request).then(|| turn.clone()));
    }

    /// An answer made of the request, where there is one.
    pub fn answering(&self, answer: impl Fn(&ModelRequest) -> Option<Turn> + Send + Sync + 'static) {
        self.house.rules.lock().expect("the rules").push(Box::new(answer));
    }

    /// The same, before all rules that there are.
    pub fn answering_first(&self, answer: impl Fn(&ModelRequest) -> Option<Turn> + Send + Sync + 'static) {
        self.house.rules.lock().expect("the rules").insert(0, Box::new(answer));
    }

    /// From now on requests are taken and not answered.
    pub fn block(&self) {
        self.house.is_blocked.send_replace(true);
    }

    pub fn release(&self) {
        self.house.is_blocked.send_replace(false);
    }

    /// All requests so far, in the order in which they arrived.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.house.records.borrow().requests().to_vec()
    }

    /// How many requests are taken and not yet answered.
    pub fn in_flight(&self) -> usize {
        self.in_flight_of("")
    }

    pub fn most_in_flight(&self) -> usize {
        self.most_in_flight_of("")
    }

    /// The same, of those whose model is called so or whose system prompt has these words.
    pub fn in_flight_of(&self, marker: &str) -> usize {
        self.house.records.borrow().in_flight(marker)
    }

    pub fn most_in_flight_of(&self, marker: &str) -> usize {
        self.house.records.borrow().most_in_flight(marker)
    }

    /// How many requests were given up by who asked, before they were answered.
    pub fn hung_up(&self) -> usize {
        self.house.records.borrow().hung_up()
    }

    /// Waits for this many requests that are taken and not yet answered.
    pub async fn until_in_flight(&self, count: usize) {
        self.until("requests in flight", |records| records.in_flight("") == count).await;
    }

    /// Waits for this many requests in all.
    pub async fn until_asked(&self, count: usize) {
        self.until("requests", |records| records.requests().len() >= count).await;
    }

    /// Waits for this many requests that were given up.
    pub async fn until_hung_up(&self, count: usize) {
        self.until("requests given up", |records| records.hung_up() >= count).await;
    }

    async fn until(&self, what: &str, is_so: impl FnMut(&Records) -> bool) {
        let mut seen = self.house.records.subscribe();
        let waiting = tokio::time::timeout(PATIENCE, seen.wait_for(is_so)).await;
        assert!(waiting.is_ok_and(|found| found.is_ok()), "no such number of {what} within ten seconds");
    }
}

impl Drop for ImitatedProvider {
    fn drop(&mut self) {
        self.listening.abort();
        // Whoever waits at the gate would wait for ever.
        self.release();
    }
}

impl House {
    /// What this request is answered with.
    fn turn(&self, request: &ModelRequest) -> Turn {
        let by_rule = self.rules.lock().expect("the rules").iter().find_map(|rule| rule(request));
        let scripted = || self.script.lock().expect("the script").pop_front();
        by_rule.or_else(scripted).unwrap_or_else(|| Turn::say(&format!("You said: {}", request.last_user_text())))
    }
}
