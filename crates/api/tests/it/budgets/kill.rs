//! Fifty callers, and a process that is killed in the middle of them: what it said was settled is there once, nothing
//! stays set aside, and the limit holds.

// What a killed process had done is known by what it said.
#![allow(clippy::print_stdout)]

use super::scene::*;
use domain::ids::ModelCallId;
use domain::ledger::CallState;
use domain::money::Micros;
use service::budgets;
use service::surroundings::Machine;
use service::{House, house};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use testkit::Random;

/// Says it to itself: where this is set, the story is the process that is killed.
const FOLDER: &str = "LONGHOUSE_TEST_KILLED_FOLDER";
const STORAGE: &str = "LONGHOUSE_TEST_KILLED_STORAGE";
/// How much more may be spent in a round: in every other one they soon run against the limit.
const MORE: [u64; 2] = [1_000_000, 4_000];
const ROUNDS: u64 = 6;
const STORY: &str = "it::budgets::kill::a_process_that_is_killed_loses_no_settlement_and_leaves_nothing_set_aside";
const ANSWERS: [&str; 4] = ["reserved ", "settled ", "released ", "refused "];

async fn open(folder: &Path, storage_url: Option<String>) -> House {
    let options = house::Options { storage_url, ..house::Options::in_folder(folder) };
    House::open(options, Arc::new(Machine::default())).await.unwrap().0
}

/// Gives the workspace what it may spend in the next round, over what it has spent.
async fn allow(house: &House, round: u64) -> Micros {
    service::rules::apply(house, declaration(LAB, None), "longhouse.yaml").await.unwrap();
    let more = Micros(MORE[usize::from(round % 2 == 1)]);
    let limit = view(house).await.today.tally.spent.plus(more);
    service::rules::apply(house, declaration(LAB, Some(daily(limit.0))), "longhouse.yaml").await.unwrap();
    limit
}

/// What a killed process had said of each call: set aside, and perhaps how it ended.
#[derive(Default)]
struct Said {
    reserved: BTreeMap<ModelCallId, u64>,
    settled: BTreeMap<ModelCallId, u64>,
    released: Vec<ModelCallId>,
}

impl Said {
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let id = || ModelCallId::from_trusted(words[1].to_owned());
        match words[..] {
            ["reserved", _, sum] => self.reserved.extend([(id(), sum.parse::<u64>().unwrap())]),
            ["settled", _, sum] => self.settled.extend([(id(), sum.parse::<u64>().unwrap())]),
            ["released", _] => self.released.push(id()),
            _ => {}
        }
    }

    async fn check(&self, house: &House) {
        for (id, reserved) in &self.reserved {
            let row = row(house, &workspace(LAB), id).await.expect("what was acknowledged is there");
            assert_eq!(row.reserved, Some(Micros(*reserved)));
            assert!(row.state != CallState::Open, "nothing stays set aside");
            if row.state == CallState::Assumed {
                assert_eq!(row.spent, row.reserved);
            }
        }
        for (id, sum) in &self.settled {
            let row = row(house, &workspace(LAB), id).await.expect("settled");
            assert_eq!((row.state, row.spent), (CallState::Settled, Some(Micros(*sum))));
        }
        for id in &self.released {
            let row = row(house, &workspace(LAB), id).await.expect("released");
            assert_eq!((row.state, row.spent), (CallState::Released, None));
        }
    }
}

/// Runs the callers in a process of their own, kills it after so many answers (one of them a settlement), and gives
/// every whole line that it said.
fn kill_in_the_middle(folder: &Path, storage_url: Option<&str>, answers: u64) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", STORY]);
    command.env(FOLDER, folder).env(STORAGE, storage_url.unwrap_or_default());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (mut lines, mut text, mut answered, mut has_settled) = (Vec::new(), String::new(), 0, false);
    while output.read_line(&mut text).unwrap_or(0) > 0 {
        // The last one may have been cut off.
        if text.ends_with('\n') {
            answered += u64::from(ANSWERS.iter().any(|answer| text.starts_with(answer)));
            has_settled |= text.starts_with("settled ");
            lines.push(text.trim_end().to_owned());
        }
        if answered >= answers && has_settled {
            child.kill().unwrap();
        }
        text.clear();
    }
    let status = child.wait().unwrap();
    assert!(answered >= answers && has_settled && status.code().is_none(), "{answered} answers, then {status}");
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_killed_loses_no_settlement_and_leaves_nothing_set_aside() {
    if let Ok(folder) = std::env::var(FOLDER) {
        return call_until_killed(Path::new(&folder)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let (data, storage_url) = (folder.path().join("data"), testkit::new_storage().await);
    let first = open(&data, storage_url.clone()).await;
    let mut limit = allow(&first, 0).await;
    first.close().await;
    drop(first);
    let (mut said, mut random) = (Said::default(), Random::new(9));
    for round in 1..=ROUNDS {
        let (answers, settled) = (1 + random.below(600), said.settled.len());
        kill_in_the_middle(&data, storage_url.as_deref(), answers).iter().for_each(|line| said.hear(line));
        assert!(said.settled.len() > settled, "they were at work");
        let house = open(&data, storage_url.clone()).await;
        said.check(&house).await;
        assert_counted(&house).await;
        let tally = view(&house).await.today.tally;
        assert_eq!(tally.reserved, Micros(0));
        assert!(tally.spent <= limit, "{} of {limit}", tally.spent);
        limit = allow(&house, round).await;
        house.close().await;
    }
    let interrupted = said.reserved.len() - said.settled.len() - said.released.len();
    let figures = (said.reserved.len(), said.settled.len(), said.released.len(), interrupted);
    println!("reserved, settled, released, interrupted: {figures:?}");
}

/// The process that is killed: fifty callers. If nobody kills it, it does not stay.
async fn call_until_killed(folder: &Path) {
    let storage_url = std::env::var(STORAGE).ok().filter(|url| !url.is_empty());
    let house = open(folder, storage_url).await;
    // Not on the line on which the harness says what it runs.
    println!();
    for number in 0..50 {
        tokio::spawn(one_caller(house.clone(), number));
    }
    tokio::time::sleep(Duration::from_secs(120)).await;
    panic!("nobody killed it");
}

async fn one_caller(house: House, number: u64) {
    let mut random = Random::new(number + u64::from(std::process::id()));
    let name = *random.one_of(&["ann", "bob"]);
    loop {
        let most = 1 + random.below(300);
        let reservation = match reserve(&house, name, most).await {
            Ok(reservation) => reservation,
            Err(error) => {
                println!("refused {:?}", error.code());
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            }
        };
        println!("reserved {} {most}", reservation.id);
        if random.once_in(8) {
            budgets::release(&house, &reservation).await.unwrap();
            println!("released {}", reservation.id);
            continue;
        }
        let tokens = random.below(most + 1);
        budgets::settle(&house, &reservation, used(tokens)).await.unwrap();
        println!("settled {} {tokens}", reservation.id);
    }
}
