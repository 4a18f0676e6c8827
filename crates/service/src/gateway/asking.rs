//! People who are told in a channel that something waits for them, and what became of it.
//!
//! At least once, as answers are: a notice is a row before it is a message, and marked as sent after the provider took it.
//! Right before it is told, account, person and membership are looked at again, and whether there is still anything to
//! decide. What was told is concluded wherever the decision fell, also after a restart.

use super::lines::{self, Held, Line};
use super::looking::leads_to;
use super::outlets::{Outlet, SendFailed};
use super::pressing::button;
use crate::approvals::Inquiry;
use crate::{Error, House, Result};
use domain::approvals::{Approval, ApprovalStatus};
use domain::channels::{Button, OutboundMessage};
use domain::notices::{Notice, NoticeKind, NoticeStatus, PATIENCE_MS, Question, Told, Words, conclusion, group_words};
use domain::times::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Operation, Tx, Untold};

const LOOKED_AT_ONCE: u64 = 1_000;
const BELONGS_NO_MORE: &str = "the account, the person and the workspace belong together no more";
const NOTHING_TO_DECIDE: &str = "there was nothing to decide any more";

/// Tells people what waits for them and what became of it, until the house closes. A provider that hangs for one person
/// holds up no other.
pub async fn ask_people(house: House, outlet: Arc<dyn Outlet>) {
    let bell = house.store().approvals_moved();
    let see_to = |line| see_to(house.clone(), outlet.clone(), line);
    lines::run(&house, bell, || ready(&house, outlet.as_ref()), see_to).await;
}

/// Tells and concludes all that is due now; answers how many messages were written or replaced.
pub async fn ask_people_once(house: &House, outlet: Arc<dyn Outlet>) -> Result<usize> {
    let mut done = 0;
    loop {
        let lines = ready(house, outlet.as_ref()).await?;
        // A line in a group becomes due with what became of the words to its person.
        if lines.is_empty() {
            return Ok(done);
        }
        done += lines::once(lines, |line| see_to(house.clone(), outlet.clone(), line)).await?;
    }
}

/// What each account is to be told, after putting down what is owed since the last look.
async fn ready(house: &House, outlet: &dyn Outlet) -> Result<Vec<Line<Notice>>> {
    let now = house.now();
    let mut lines: BTreeMap<String, Vec<Notice>> = BTreeMap::new();
    for channel in lines::connected(outlet) {
        for untold in house.store().scan(FindUntold { channel, now }).await?.into_iter().filter(is_meant) {
            let Untold { workspace, project, approval, user, identity, origin } = untold;
            let turn = workspace.clone();
            let notice = Notice::owed((workspace, project, approval), (user, identity), origin, now);
            house.store().write(&turn, Owe { notice }).await?;
        }
        for notice in house.store().scan(Due { channel, now }).await? {
            lines.entry(format!("{channel}:{}", notice.identity.id)).or_default().push(notice);
        }
    }
    Ok(lines.into_iter().collect())
}

/// Whoever asked in a channel is told by the account that asked, and by no other.
fn is_meant(untold: &Untold) -> bool {
    untold
        .origin
        .as_ref()
        .is_none_or(|origin| origin.place.channel == untold.identity.channel && origin.sender_id == untold.identity.id)
}

/// One that cannot be seen to holds up no other of the same person.
async fn see_to(house: House, outlet: Arc<dyn Outlet>, line: Vec<Notice>) -> Result<usize> {
    let (mut done, mut failure) = (0, None);
    for notice in line {
        if house.authority().is_closing() {
            break;
        }
        match step(&house, outlet.as_ref(), notice).await {
            Ok(has_spoken) => done += usize::from(has_spoken),
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(done), Err)
}

/// Brings a notice one step on and puts that down; answers whether something was said.
async fn step(house: &House, outlet: &dyn Outlet, notice: Notice) -> Result<bool> {
    let was_owed = notice.status == NoticeStatus::Owed;
    let Some((after, has_spoken)) = attempt(house, outlet, notice).await? else { return Ok(false) };
    let in_group = if was_owed { after.in_group(house.now()) } else { None };
    let is_there = put_down(house, &after, in_group).await?;
    if let Some(told) = after.told.as_ref().filter(|_| was_owed && !is_there) {
        // Whoever was told is gone meanwhile, with the row: no buttons are left behind.
        let gone = conclusion(None, &after.user);
        drop(outlet.conclude(&told.place, &told.message_id, &gone).await);
    }
    let held = Held {
        workspace: &after.workspace,
        project: &after.project,
        channel: &after.identity.channel,
        attempts: after.tries.attempts,
        is_given_up: after.status == NoticeStatus::Failed,
    };
    if after.status != NoticeStatus::Dropped {
        lines::worry(house, held, "a word about an approval").await;
    }
    Ok(has_spoken)
}

/// What becomes of a notice now, and whether something was said. None if it is not there any more. That it is tried is put
/// down before, as with answers.
async fn attempt(house: &House, outlet: &dyn Outlet, notice: Notice) -> Result<Option<(Notice, bool)>> {
    let next = house.store().read(Look { notice: notice.clone(), now: house.now() }).await?;
    if let Next::Drop(why) = next {
        return Ok(Some((notice.dropped(why, house.now()), false)));
    }
    let notice = notice.begun(house.now());
    if !put_down(house, &notice, None).await? {
        return Ok(None);
    }
    let outcome = match next {
        Next::Drop(_) => return Ok(None),
        Next::Tell(words, digest) => {
            tell(outlet, &notice, words, digest).await.map(|told| notice.clone().told(told, house.now()))
        }
        Next::Say(message) => outlet.send(&message).await.map(|_| notice.clone().said(house.now())),
        Next::Conclude(told, text) => {
            let concluded = outlet.conclude(&told.place, &told.message_id, &text).await;
            concluded.map(|()| notice.clone().concluded(house.now()))
        }
    };
    Ok(Some(match outcome {
        Ok(after) => (after, true),
        Err(failed) => (notice.failed(&failed, house.now()), false),
    }))
}

/// Whether it was still there.
async fn put_down(house: &House, notice: &Notice, in_group: Option<Notice>) -> Result<bool> {
    house.store().write(&notice.workspace, Advance { notice: notice.clone(), in_group }).await
}

async fn tell(outlet: &dyn Outlet, notice: &Notice, words: Words, digest: String) -> Result<Told, SendFailed> {
    let place = outlet.direct(&notice.identity.channel, &notice.identity.id).await?;
    let carries = |label: &str, approves: bool| Button {
        label: label.to_owned(),
        data: button(notice.approval.as_str(), approves),
    };
    let mut buttons = vec![carries("Reject", false)];
    if words.offers_approval {
        buttons.insert(0, carries("Approve", true));
    }
    let message = OutboundMessage { buttons, ..OutboundMessage::to(place.clone(), words.text) };
    let nameless = || SendFailed::for_good("the provider named no message");
    let message_id = outlet.send(&message).await?.pop().ok_or_else(nameless)?;
    Ok(Told { place, message_id, digest, offers_approval: words.offers_approval })
}

struct FindUntold {
    channel: &'static str,
    now: Timestamp,
}

impl Operation for FindUntold {
    type Output = Vec<Untold>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Untold>> {
        Ok(tx.approvals_untold(self.channel, (self.now, self.now.plus_ms(-PATIENCE_MS)), LOOKED_AT_ONCE).await?)
    }
}

struct Owe {
    notice: Notice,
}

impl Operation for Owe {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        Ok(tx.scope(&self.notice.workspace).notices().create(&self.notice).await?)
    }
}

struct Due {
    channel: &'static str,
    now: Timestamp,
}

impl Operation for Due {
    type Output = Vec<Notice>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Notice>> {
        Ok(tx.notices_due(self.channel, self.now, LOOKED_AT_ONCE).await?)
    }
}

struct Advance {
    notice: Notice,
    in_group: Option<Notice>,
}

impl Operation for Advance {
    /// Whether it was there.
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        let is_so = tx.scope(&self.notice.workspace).notices().advance(&self.notice).await?;
        if let Some(line) = self.in_group.as_ref().filter(|_| is_so) {
            tx.scope(&line.workspace).notices().create(line).await?;
        }
        Ok(is_so)
    }
}

/// What is to be done about a notice.
enum Next {
    Tell(Words, String),
    Say(OutboundMessage),
    Conclude(Told, String),
    Drop(&'static str),
}

struct Look {
    notice: Notice,
    now: Timestamp,
}

impl Operation for Look {
    type Output = Next;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Next> {
        let Notice { workspace, approval, user, identity, told, .. } = &self.notice;
        let approval = tx.scope(workspace).approvals().get(approval).await?;
        let is_theirs = tx.user_of(identity).await?.as_ref() == Some(user) && tx.is_member(user, workspace).await?;
        if let Some(told) = told {
            return self.conclude(tx, told.clone(), approval, is_theirs).await;
        }
        let waits = |approval: &Approval| {
            approval.status == ApprovalStatus::Pending && self.now < approval.expires_at && approval.user == *user
        };
        match approval.filter(waits) {
            None => Ok(Next::Drop(NOTHING_TO_DECIDE)),
            Some(_) if !is_theirs => Ok(Next::Drop(BELONGS_NO_MORE)),
            Some(approval) if self.notice.kind == NoticeKind::Direct => self.ask(tx, approval).await,
            Some(_) => self.say_in_group(tx).await,
        }
    }
}

impl Look {
    async fn ask(&self, tx: &mut Tx, approval: Approval) -> Result<Next> {
        let digest = approval.digest.clone();
        let Some(asked) = Subject::new(tx, &self.notice, approval).await? else {
            return Ok(Next::Drop(NOTHING_TO_DECIDE));
        };
        Ok(Next::Tell(asked.question().words(), digest))
    }

    /// In the place, and as an answer to the message; only while it leads to the workspace, for this person.
    async fn say_in_group(&self, tx: &mut Tx) -> Result<Next> {
        let Notice { workspace, approval, user, identity, origin, .. } = &self.notice;
        let all = tx.scope(workspace).notices().of(approval).await?;
        let direct = all.iter().find(|notice| notice.kind == NoticeKind::Direct && notice.identity == *identity);
        let (Some(direct), Some(origin)) = (direct, origin) else { return Ok(Next::Drop(NOTHING_TO_DECIDE)) };
        if !leads_to(tx, origin, workspace, user).await? {
            return Ok(Next::Drop(BELONGS_NO_MORE));
        }
        Ok(Next::Say(OutboundMessage {
            thread_id: origin.thread_id.clone(),
            reply_to: origin.reply_to.clone(),
            ..OutboundMessage::to(origin.place.clone(), group_words(direct))
        }))
    }

    /// Whoever it does not concern any more is not reminded of what it was.
    async fn conclude(&self, tx: &mut Tx, told: Told, approval: Option<Approval>, is_theirs: bool) -> Result<Next> {
        let said = conclusion(approval.as_ref(), &self.notice.user);
        let asked = match approval.filter(|_| is_theirs) {
            Some(approval) => Subject::new(tx, &self.notice, approval).await?,
            None => None,
        };
        let about = asked.map_or_else(String::new, |asked| format!("\n{}", asked.question().in_a_line()));
        Ok(Next::Conclude(told, format!("{said}{about}")))
    }
}

/// An approval with all that is said of it.
struct Subject {
    inquiry: Inquiry,
    project: String,
}

impl Subject {
    async fn new(tx: &mut Tx, notice: &Notice, approval: Approval) -> Result<Option<Self>> {
        let project = tx.scope(&notice.workspace).projects().get(&notice.project).await?;
        let inquiry = Inquiry::new(tx, notice.workspace.clone(), approval).await?;
        Ok(inquiry.zip(project).map(|(inquiry, project)| Self { inquiry, project: project.name }))
    }

    fn question(&self) -> Question<'_> {
        Question {
            workspace: self.inquiry.workspace.as_str(),
            project: &self.project,
            node: self.inquiry.node.as_ref().map(|node| node.name.as_str()),
            approval: &self.inquiry.approval,
            call: &self.inquiry.call,
        }
    }
}
