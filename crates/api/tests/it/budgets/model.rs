//! Random lives of a budget, compared step by step with the simplest thing that could be right: a list of calls.

use super::scene::*;
use domain::Code;
use domain::money::Micros;
use domain::prices::Usage;
use domain::rules::Price;
use domain::workspaces::Budget;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use service::budgets::{self, OVERDUE_AFTER_S, Reservation};
use std::collections::BTreeMap;
use testkit::World;

const NAMES: [&str; 2] = ["ann", "bob"];

#[derive(Debug, Clone)]
enum Step {
    Reserve { who: usize, model: usize, prompt: u64, most: u64 },
    Settle { call: usize, usage: (u64, u64) },
    Release { call: usize },
    Wait { minutes: i64 },
    Limits { daily: Option<u64>, member: Option<u64> },
    EndOverdue,
}

/// A zone, a moment in it, and the midnights that follow, written down from a calendar.
struct Days {
    zone: &'static str,
    begin: &'static str,
    days: &'static [(&'static str, &'static str)],
}

const CALENDAR: &[Days] = &[
    // A day of 23 hours.
    Days {
        zone: "Europe/Berlin",
        begin: "2026-03-28T20:00:00Z",
        days: &[
            ("2026-03-28", "2026-03-28T23:00:00Z"),
            ("2026-03-29", "2026-03-29T22:00:00Z"),
            ("2026-03-30", "2026-03-30T22:00:00Z"),
            ("2026-03-31", "2026-03-31T22:00:00Z"),
        ],
    },
    // A day of 25 hours.
    Days {
        zone: "America/New_York",
        begin: "2026-10-31T23:00:00Z",
        days: &[
            ("2026-10-31", "2026-11-01T04:00:00Z"),
            ("2026-11-01", "2026-11-02T05:00:00Z"),
            ("2026-11-02", "2026-11-03T05:00:00Z"),
            ("2026-11-03", "2026-11-04T05:00:00Z"),
        ],
    },
    // A day that begins at one.
    Days {
        zone: "Africa/Cairo",
        begin: "2026-04-23T18:00:00Z",
        days: &[
            ("2026-04-23", "2026-04-23T22:00:00Z"),
            ("2026-04-24", "2026-04-24T21:00:00Z"),
            ("2026-04-25", "2026-04-25T21:00:00Z"),
            ("2026-04-26", "2026-04-26T21:00:00Z"),
        ],
    },
];

fn models() -> [(&'static str, Option<Price>); 4] {
    let unit = Price { input_per_mtok: Micros(1_000_000), output_per_mtok: Micros(1_000_000) };
    [(UNIT, Some(unit)), ("odd", Some(ODD)), ("demo", Some(Price::FREE)), ("unheard-of", None)]
}

fn lives() -> impl Strategy<Value = (usize, Vec<Step>)> {
    let limit = || prop_oneof![1 => Just(None), 4 => (0..3_000_u64).prop_map(Some)];
    let step = prop_oneof![
        10 => (0..2_usize, prop_oneof![5 => Just(0_usize), 5 => Just(1), 1 => Just(2), 1 => Just(3)], 0..400_u64, 0..400_u64)
            .prop_map(|(who, model, prompt, most)| Step::Reserve { who, model, prompt, most }),
        // Also of tokens that nobody expected.
        8 => (0..12_usize, (0..500_u64, 0..500_u64)).prop_map(|(call, usage)| Step::Settle { call, usage }),
        3 => (0..12_usize).prop_map(|call| Step::Release { call }),
        3 => (0..400_i64).prop_map(|minutes| Step::Wait { minutes }),
        2 => (limit(), limit()).prop_map(|(daily, member)| Step::Limits { daily, member }),
        2 => Just(Step::EndOverdue),
    ];
    (0..CALENDAR.len(), prop::collection::vec(step, 40))
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Open,
    Assumed,
    Settled,
    Released,
}

struct Call {
    who: usize,
    day: usize,
    price: Option<Price>,
    reserved: u128,
    spent: u128,
    state: State,
    overdue_ms: i64,
}

/// Dearer than exact is right only in the last micro-dollar, and only once.
fn cost(price: Option<Price>, (input, output): (u64, u64)) -> u128 {
    let Some(price) = price else { return 0 };
    let exact = u128::from(input) * u128::from(price.input_per_mtok.0)
        + u128::from(output) * u128::from(price.output_per_mtok.0);
    exact / 1_000_000 + u128::from(exact % 1_000_000 > 0)
}

struct Pair {
    world: World,
    name: String,
    calendar: &'static Days,
    daily: Option<u64>,
    member: Option<u64>,
    calls: Vec<Call>,
    reservations: Vec<Reservation>,
    told: BTreeMap<usize, (bool, bool)>,
    alerts: Vec<&'static str>,
}

impl Pair {
    fn now_ms(&self) -> i64 {
        self.world.house.now().as_ms()
    }

    fn today(&self) -> usize {
        let now = self.now_ms();
        self.calendar.days.iter().position(|(_, end)| now < at(end).as_ms()).unwrap()
    }

    fn sum(&self, of: impl Fn(&Call) -> bool, what: impl Fn(&Call) -> u128) -> u128 {
        self.calls.iter().filter(|call| of(call)).map(what).sum()
    }

    fn spent(&self, day: usize, who: Option<usize>) -> u128 {
        let of = |call: &Call| call.day == day && who.is_none_or(|who| who == call.who);
        self.sum(of, |call| if matches!(call.state, State::Assumed | State::Settled) { call.spent } else { 0 })
    }

    fn reserved(&self, day: usize, who: Option<usize>) -> u128 {
        let of = |call: &Call| call.day == day && who.is_none_or(|who| who == call.who);
        self.sum(of, |call| if call.state == State::Open { call.reserved } else { 0 })
    }

    /// Notes what the members must hear now that something was spent.
    fn tell(&mut self) {
        let Some(limit) = self.daily.map(u128::from) else { return };
        let day = self.today();
        let spent = self.spent(day, None);
        let (warned, reached) = self.told.entry(day).or_default();
        if !*warned && spent > 0 && spent * 5 >= limit * 4 {
            *warned = true;
            self.alerts.push("BUDGET_WARNING");
        }
        if !*reached && spent > 0 && spent >= limit {
            *reached = true;
            self.alerts.push("BUDGET_REACHED");
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Reserve { who, model, prompt, most } => self.reserve(who, model, prompt, most).await,
            Step::Settle { call, usage } if call < self.calls.len() => {
                let (input_tokens, output_tokens) = usage;
                let usage_said = Usage { input_tokens, output_tokens };
                budgets::settle(&self.world.house, &self.reservations[call], usage_said).await.unwrap();
                let sum = cost(self.calls[call].price, usage);
                self.end(call, State::Settled, sum);
            }
            Step::Release { call } if call < self.calls.len() => {
                budgets::release(&self.world.house, &self.reservations[call]).await.unwrap();
                self.end(call, State::Released, 0);
            }
            Step::Settle { .. } | Step::Release { .. } => {}
            Step::Wait { minutes } => {
                let end = at(self.calendar.days.last().unwrap().1).as_ms();
                if self.now_ms() + minutes * 60_000 < end {
                    self.world.clock.advance_s(minutes * 60);
                }
            }
            Step::Limits { daily, member } => {
                (self.daily, self.member) = (daily, member);
                self.declare().await;
            }
            Step::EndOverdue => {
                budgets::end_overdue_calls_once(&self.world.house).await.unwrap();
                let now = self.now_ms();
                for call in 0..self.calls.len() {
                    if self.calls[call].state == State::Open && self.calls[call].overdue_ms <= now {
                        let sum = self.calls[call].reserved;
                        self.end(call, State::Assumed, sum);
                    }
                }
            }
        }
        self.compare().await;
    }

    fn end(&mut self, call: usize, state: State, sum: u128) {
        let (today, call) = (self.today(), &mut self.calls[call]);
        if !matches!(call.state, State::Open | State::Assumed) {
            return;
        }
        (call.state, call.spent) = (state, sum);
        if call.day == today {
            self.tell();
        }
    }

    async fn reserve(&mut self, who: usize, model: usize, prompt: u64, most: u64) {
        let (model, price) = models()[model];
        let estimate = cost(price, (prompt, most));
        let asked = budgets::ReserveCall { prompt_tokens: prompt, max_tokens: most, ..call(&self.name, model, 0) };
        let outcome = budgets::reserve(&ctx(&self.world.house, NAMES[who]), asked).await;
        let day = self.today();
        let taken = |who| self.spent(day, who) + self.reserved(day, who);
        let over = |limit: Option<u64>, who| limit.is_some_and(|limit| taken(who) + estimate > u128::from(limit));
        let is_free = price == Some(Price::FREE);
        let (by_workspace, by_member) = (over(self.daily, None), over(self.member, Some(who)));
        if price.is_none() && (self.daily.is_some() || self.member.is_some()) {
            assert_eq!(outcome.unwrap_err().code(), Code::PriceUnknown);
        } else if !is_free && (by_workspace || by_member) {
            let refusal = outcome.unwrap_err().into_refusal();
            assert_eq!(refusal.code, Code::BudgetExceeded);
            assert_eq!(refusal.details["whose"], if by_workspace { "workspace" } else { "member" });
        } else {
            let reservation = outcome.unwrap();
            assert_eq!(reservation.reserved.map(|sum| u128::from(sum.0)), price.map(|_| estimate));
            self.reservations.push(reservation);
            let overdue_ms = self.now_ms() + OVERDUE_AFTER_S.cast_signed() * 1000;
            self.calls.push(Call { who, day, price, reserved: estimate, spent: 0, state: State::Open, overdue_ms });
        }
    }

    async fn declare(&self) {
        let budget = Budget {
            daily: self.daily.map(Micros),
            member_daily: self.member.map(Micros),
            timezone: Some(self.calendar.zone.to_owned()),
            ..Budget::default()
        };
        self.world.declare(declaration(&self.name, Some(budget))).await;
    }

    async fn compare(&self) {
        let view = budgets::look(&ctx(&self.world.house, "ann"), &self.name).await.unwrap();
        let (today, micros) = (self.today(), |sum: u128| Micros(u64::try_from(sum).unwrap()));
        let (label, end) = self.calendar.days[today];
        assert_eq!((view.day.to_string().as_str(), view.resets_at), (label, at(end)));
        let tally = view.today.tally;
        assert_eq!(
            (tally.spent, tally.reserved),
            (micros(self.spent(today, None)), micros(self.reserved(today, None)))
        );
        assert_eq!(view.limit, self.daily.map(Micros));
        for (who, name) in NAMES.into_iter().enumerate() {
            let found = view.by_member.iter().find(|member| member.user == user(name));
            let tally = found.map(|found| found.counters.tally).unwrap_or_default();
            let expected = (micros(self.spent(today, Some(who))), micros(self.reserved(today, Some(who))));
            assert_eq!((tally.spent, tally.reserved), expected, "{name}");
        }
        for (day, (label, _)) in self.calendar.days.iter().enumerate().take(today + 1) {
            let found = view.by_day.iter().find(|found| found.day.to_string() == *label).unwrap();
            assert_eq!(found.counters.tally.spent, micros(self.spent(day, None)), "{label}");
        }
        let told: Vec<String> =
            alerts(&self.world.house, &workspace(&self.name)).await.into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(told, self.alerts);
    }
}

async fn live(world: World, number: usize, (calendar, life): (usize, Vec<Step>)) -> World {
    let calendar = &CALENDAR[calendar];
    world.clock.turn_to(at(calendar.begin));
    let mut pair = Pair {
        world,
        name: format!("life-{number}"),
        calendar,
        daily: Some(1_500),
        member: None,
        calls: Vec::new(),
        reservations: Vec::new(),
        told: BTreeMap::new(),
        alerts: Vec::new(),
    };
    pair.declare().await;
    for step in life {
        pair.take(step).await;
    }
    assert_counted(&pair.world.house).await;
    pair.world
}

#[test]
fn a_random_life_of_a_budget_is_exact_to_the_micro_dollar() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // One house for all lives: each has a workspace of its own.
    let shared = std::cell::RefCell::new((0, Some(runtime.block_on(World::new()))));
    let cases = if testkit::on_postgres() { 12 } else { 60 };
    let config = Config { cases, max_shrink_iters: 100, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&lives(), |life| {
        let (number, world) = {
            let mut shared = shared.borrow_mut();
            shared.0 += 1;
            (shared.0, shared.1.take().unwrap())
        };
        let lived = std::panic::AssertUnwindSafe(|| runtime.block_on(live(world, number, life)));
        let outcome = std::panic::catch_unwind(lived);
        let failed = outcome.is_err();
        // The house went with the panic: the next, simpler life gets a new one.
        shared.borrow_mut().1 = Some(outcome.unwrap_or_else(|_| runtime.block_on(World::new())));
        if failed { Err(TestCaseError::fail("the house and the list of calls disagree")) } else { Ok(()) }
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
