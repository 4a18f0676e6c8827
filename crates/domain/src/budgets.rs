//! Budgets: whose day it is, whether a call still fits into it, and who is told. Sums are whole micro-dollars.

use crate::ids::UserId;
use crate::money::Micros;
use crate::times::Timestamp;
use crate::workspaces::Budget;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Serialize, Serializer};
use std::fmt;

/// The name of a day, `2026-02-20`. In order of their texts, days are in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

impl Day {
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// The day so many days before.
    #[must_use]
    pub fn minus(self, days: u16) -> Self {
        Self(self.0.saturating_sub(jiff::Span::new().days(days)))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A day as a stretch of time. Each ends where another begins, so every moment is in exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalDay {
    pub day: Day,
    pub ends_at: Timestamp,
}

pub fn is_time_zone(name: &str) -> bool {
    TimeZone::get(name).is_ok()
}

impl LocalDay {
    /// The day of a moment in a time zone by its IANA name. UTC if none is said, or one that is no longer known.
    pub fn of(at: Timestamp, zone: Option<&str>) -> Self {
        let zone = zone.and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
        let moment = jiff::Timestamp::from_millisecond(at.as_ms()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let mut date = zone.to_datetime(moment).date();
        let mut ends_at = beginning_after(date, &zone);
        // Where clocks are set back just after midnight the old date comes again; the new day has begun all the same.
        while ends_at <= at && date < Date::MAX {
            date = date.saturating_add(jiff::Span::new().days(1));
            ends_at = beginning_after(date, &zone);
        }
        Self { day: Day(date), ends_at }
    }
}

/// When the day after `date` begins: at the first midnight of that date, or, where that hour is left out, after it.
fn beginning_after(date: Date, zone: &TimeZone) -> Timestamp {
    let begins = date.tomorrow().and_then(|next| next.to_zoned(zone.clone())).and_then(|next| next.start_of_day());
    Timestamp::from_ms(begins.map_or(i64::MAX, |begins| begins.timestamp().as_millisecond()))
}

/// What was spent in a day, and what calls under way may spend yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub spent: Micros,
    pub reserved: Micros,
}

impl Tally {
    pub fn taken(self) -> Micros {
        self.spent.plus(self.reserved)
    }

    pub fn left(self, limit: Micros) -> Micros {
        limit.less(self.taken())
    }

    fn fits(self, estimate: Micros, limit: Micros) -> bool {
        self.taken().plus(estimate) <= limit
    }
}

/// What may be spent in a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    pub workspace: Option<Micros>,
    pub member: Option<Micros>,
}

impl Limits {
    pub fn of(budget: Option<&Budget>, user: &UserId) -> Self {
        let Some(budget) = budget else { return Self::default() };
        Self { workspace: budget.daily, member: member_limit(budget, user) }
    }
}

/// What one member may spend in a day.
pub fn member_limit(budget: &Budget, user: &UserId) -> Option<Micros> {
    budget.members.get(user).copied().or(budget.member_daily)
}

/// Whether anybody is limited: then every call must have a price.
pub fn has_limits(budget: Option<&Budget>) -> bool {
    budget.is_some_and(|budget| budget.daily.is_some() || budget.member_daily.is_some() || !budget.members.is_empty())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Workspace,
    Member,
}

impl Whose {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Member => "member",
        }
    }
}

/// The limit that leaves no room for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    pub whose: Whose,
    pub limit: Micros,
    pub tally: Tally,
}

/// Whether a call that may cost `estimate` fits into the day of the workspace and of the member.
pub fn decide(limits: Limits, workspace: Tally, member: Tally, estimate: Micros) -> Result<(), Exceeded> {
    let both = [(Whose::Workspace, limits.workspace, workspace), (Whose::Member, limits.member, member)];
    for (whose, limit, tally) in both {
        if let Some(limit) = limit
            && !tally.fits(estimate, limit)
        {
            return Err(Exceeded { whose, limit, tally });
        }
    }
    Ok(())
}

/// What the members of a workspace have been told today.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    pub warned: bool,
    pub reached: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alert {
    /// Four fifths are spent.
    Warning,
    /// All is spent.
    Reached,
}

impl Told {
    /// Which alerts are due, each once a day; notes that they are told.
    pub fn due(&mut self, limit: Option<Micros>, spent: Micros) -> Vec<Alert> {
        let Some(limit) = limit else { return Vec::new() };
        let at_least = |percent: u128| spent > Micros(0) && u128::from(spent.0) * 100 >= u128::from(limit.0) * percent;
        let mut due = Vec::new();
        if !self.warned && at_least(80) {
            self.warned = true;
            due.push(Alert::Warning);
        }
        if !self.reached && at_least(100) {
            self.reached = true;
            due.push(Alert::Reached);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> Timestamp {
        serde_json::from_str(&format!("\"{text}\"")).unwrap()
    }

    #[test]
    fn a_day_ends_at_the_midnight_of_its_zone() {
        let cases = [
            (None, "2026-02-20T14:30:00Z", "2026-02-20", "2026-02-21T00:00:00.000Z"),
            (Some("No/Where"), "2026-02-20T14:30:00Z", "2026-02-20", "2026-02-21T00:00:00.000Z"),
            (Some("Europe/Berlin"), "2026-02-20T22:59:59.999Z", "2026-02-20", "2026-02-20T23:00:00.000Z"),
            (Some("Europe/Berlin"), "2026-02-20T23:00:00Z", "2026-02-21", "2026-02-21T23:00:00.000Z"),
            // 23 and 25 hours.
            (Some("Europe/Berlin"), "2026-03-28T23:00:00Z", "2026-03-29", "2026-03-29T22:00:00.000Z"),
            (Some("Europe/Berlin"), "2026-10-24T22:00:00Z", "2026-10-25", "2026-10-25T23:00:00.000Z"),
            (Some("America/New_York"), "2026-03-08T06:00:00Z", "2026-03-08", "2026-03-09T04:00:00.000Z"),
            // Half and quarter hours.
            (Some("Asia/Kathmandu"), "2026-02-20T18:15:00Z", "2026-02-21", "2026-02-21T18:15:00.000Z"),
            // The midnight that is left out: the day begins at one.
            (Some("Africa/Cairo"), "2026-04-23T21:59:59Z", "2026-04-23", "2026-04-23T22:00:00.000Z"),
            (Some("Africa/Cairo"), "2026-04-23T22:00:00Z", "2026-04-24", "2026-04-24T21:00:00.000Z"),
            (Some("America/Sao_Paulo"), "2018-11-04T02:30:00Z", "2018-11-03", "2018-11-04T03:00:00.000Z"),
            // Clocks set back at midnight: the hour before it comes twice and belongs to the old day.
            (Some("America/Sao_Paulo"), "2018-02-18T02:30:00Z", "2018-02-17", "2018-02-18T03:00:00.000Z"),
            // Clocks set back one minute after midnight: the new day has begun and stays.
            (Some("America/St_Johns"), "2010-11-07T02:30:30Z", "2010-11-07", "2010-11-08T03:30:00.000Z"),
            (Some("America/St_Johns"), "2010-11-07T02:45:00Z", "2010-11-07", "2010-11-08T03:30:00.000Z"),
            // A date that was left out.
            (Some("Pacific/Apia"), "2011-12-30T09:59:59Z", "2011-12-29", "2011-12-30T10:00:00.000Z"),
            (Some("Pacific/Apia"), "2011-12-30T10:00:00Z", "2011-12-31", "2011-12-31T10:00:00.000Z"),
        ];
        for (zone, moment, day, ends_at) in cases {
            let found = LocalDay::of(at(moment), zone);
            assert_eq!(
                (found.day.to_string(), found.ends_at.to_string()),
                (day.to_owned(), ends_at.to_owned()),
                "{zone:?} {moment}"
            );
        }
        assert!(is_time_zone("Europe/Berlin") && !is_time_zone("Europe/Bielefeld") && !is_time_zone(""));
        assert_eq!(Day::parse("2026-03-01").unwrap().minus(1).to_string(), "2026-02-28");
    }

    proptest! {
        /// Any moment in any zone is in one day, days follow each other, and none is longer than two.
        #[test]
        fn days_follow_each_other_without_gap_or_overlap(ms in 0..4_102_444_800_000_i64, zone in any::<prop::sample::Index>()) {
            let names: Vec<_> = jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect();
            let zone = Some(zone.get(&names).as_str());
            let moment = Timestamp::from_ms(ms);
            let today = LocalDay::of(moment, zone);
            prop_assert!(today.ends_at > moment, "{zone:?} {moment}");
            prop_assert!(today.ends_at.as_ms() - ms <= 49 * 3_600_000, "{zone:?} {moment}");
            prop_assert_eq!(LocalDay::of(today.ends_at.plus_ms(-1), zone), today);
            let tomorrow = LocalDay::of(today.ends_at, zone);
            prop_assert!(tomorrow.day > today.day, "{zone:?} {moment}: {tomorrow:?}");
        }
    }

    #[test]
    fn a_call_fits_if_everything_that_may_be_spent_stays_within_both_limits() {
        let tally = |spent, reserved| Tally { spent: Micros(spent), reserved: Micros(reserved) };
        let limit = |sum: u64| Some(Micros(sum));
        let none = Tally::default();
        // workspace limit and tally, member limit and tally, estimate, whose limit is exceeded
        let cases = [
            (None, none, None, none, u64::MAX, None),
            (limit(10), none, None, none, 10, None),
            (limit(10), none, None, none, 11, Some(Whose::Workspace)),
            (limit(10), tally(4, 5), None, none, 1, None),
            (limit(10), tally(4, 6), None, none, 1, Some(Whose::Workspace)),
            (limit(10), tally(0, 10), None, none, 1, Some(Whose::Workspace)),
            (limit(10), tally(11, 0), None, none, 1, Some(Whose::Workspace)),
            (limit(10), tally(4, 0), limit(3), tally(2, 1), 1, Some(Whose::Member)),
            (limit(10), tally(4, 0), limit(3), tally(2, 0), 1, None),
            (limit(10), tally(10, 0), limit(3), tally(3, 0), 1, Some(Whose::Workspace)),
            (limit(0), none, None, none, 0, None),
            (limit(10), none, None, none, u64::MAX, Some(Whose::Workspace)),
            (limit(10), tally(u64::MAX, u64::MAX), None, none, 1, Some(Whose::Workspace)),
        ];
        for (workspace, whole, member, own, estimate, expected) in cases {
            let decided = decide(Limits { workspace, member }, whole, own, Micros(estimate));
            assert_eq!(
                decided.err().map(|exceeded| exceeded.whose),
                expected,
                "{workspace:?} {whole:?} {member:?} {own:?} {estimate}"
            );
        }
        assert_eq!(tally(4, 5).left(Micros(10)), Micros(1));
        assert_eq!(tally(40, 5).left(Micros(10)), Micros(0));
    }

    #[test]
    fn a_members_own_limit_goes_before_the_one_for_all() {
        let user = |name: &str| UserId::parse(name).unwrap();
        let budget =
            Budget { member_daily: Some(Micros(2)), members: [(user("ann"), Micros(7))].into(), ..Budget::default() };
        assert_eq!(Limits::of(Some(&budget), &user("ann")).member, Some(Micros(7)));
        assert_eq!(Limits::of(Some(&budget), &user("bob")).member, Some(Micros(2)));
        assert_eq!(Limits::of(None, &user("bob")), Limits::default());
        assert!(has_limits(Some(&budget)) && !has_limits(Some(&Budget::default())) && !has_limits(None));
    }

    #[test]
    fn an_alert_is_due_at_four_fifths_and_at_all_and_told_once() {
        use Alert::{Reached, Warning};
        let cases: [(u64, u64, &[Alert]); 9] = [
            (100, 0, &[]),
            (100, 79, &[]),
            (100, 80, &[Warning]),
            (100, 99, &[Warning]),
            (100, 100, &[Warning, Reached]),
            (100, 250, &[Warning, Reached]),
            (0, 0, &[]),
            (0, 1, &[Warning, Reached]),
            (u64::MAX, u64::MAX, &[Warning, Reached]),
        ];
        for (limit, spent, expected) in cases {
            let mut told = Told::default();
            assert_eq!(told.due(Some(Micros(limit)), Micros(spent)), expected, "{limit} {spent}");
            assert_eq!(told.due(Some(Micros(limit)), Micros(spent)), [], "once");
        }
        assert_eq!(Told::default().due(None, Micros(9)), []);
    }
}
