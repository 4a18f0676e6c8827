//! Questions of the node itself that wait for a key (`--ask-locally`). Each has an end: then it is a no, and leaves the screen.

use super::models::Event;
use domain::times::Timestamp;
use node::Question;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// How long the end of a question goes unwatched.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(5);

pub(super) struct Questions {
    tell: UnboundedSender<Event>,
    next: AtomicU64,
    /// With the call that each is about.
    open: Mutex<HashMap<u64, (String, Sender<bool>)>>,
    clock: fn() -> Timestamp,
}

impl Questions {
    pub(super) fn new(tell: UnboundedSender<Event>, clock: fn() -> Timestamp) -> Arc<Self> {
        Arc::new(Self { tell, next: AtomicU64::new(1), open: Mutex::default(), clock })
    }

    /// Waits, on a thread that may, while an answer is of use. Where nobody can answer any more, that is a no.
    pub(super) fn ask(&self, question: &Question) -> bool {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = mpsc::channel();
        self.open().insert(number, (question.call.id.clone(), answer));
        let asked = self.tell.send(Event::Asked { number, question: Box::new(question.clone()) });
        if asked.is_ok()
            && let Some(yes) = self.wait(&answered, question.ends_at())
        {
            return yes;
        }
        let is_open = self.open().remove(&number).is_some();
        if !is_open && let Ok(yes) = answered.recv() {
            // A key was pressed at this very moment: that was the answer, and the screen has shown it as one.
            return yes;
        }
        // From here and nowhere else: on the screen it comes after the question, whoever was quicker.
        let _ = self.tell.send(Event::Unanswered { number, has_moved_on: !is_open });
        false
    }

    /// By the clock on the wall, which goes on while the machine sleeps. None if the time is over.
    fn wait(&self, answered: &Receiver<bool>, end: Option<Timestamp>) -> Option<bool> {
        loop {
            let left_ms = u64::try_from(end?.as_ms() - (self.clock)().as_ms()).ok().filter(|left_ms| *left_ms > 0)?;
            match answered.recv_timeout(Duration::from_millis(left_ms).min(LOOKED_AT_EVERY)) {
                Err(RecvTimeoutError::Timeout) => {}
                answer => return answer.ok(),
            }
        }
    }

    pub(super) fn answer(&self, number: u64, yes: bool) {
        if let Some((_, answer)) = self.open().remove(&number) {
            let _ = answer.send(yes);
        }
    }

    /// A call that was taken back, or that somebody else has ended, is not asked about any more.
    pub(super) fn move_on(&self, call: &str) {
        // Whoever waits finds nobody who could answer any more.
        self.open().retain(|_, (about, _)| about != call);
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, (String, Sender<bool>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::models::tests::{NOW, asked_here};
    use super::*;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    /// It ends ten minutes after the decision, which is the node's own limit.
    const ENDS: i64 = NOW + (300 + 600) * 1000;

    fn scene(clock: fn() -> Timestamp) -> (Arc<Questions>, UnboundedReceiver<Event>) {
        let (tell, told) = unbounded_channel();
        (Questions::new(tell, clock), told)
    }

    #[test]
    fn a_question_that_nobody_answers_ends_with_a_no_and_leaves() {
        let rows: [(fn() -> Timestamp, bool); 3] = [
            (|| Timestamp::from_ms(ENDS), true),
            (|| Timestamp::from_ms(ENDS + 86_400_000), true),
            // So little is left that it is waited for.
            (|| Timestamp::from_ms(ENDS - 1), false),
        ];
        for (clock, is_over) in rows {
            let (questions, mut told) = scene(clock);
            let asking = std::thread::spawn({
                let questions = questions.clone();
                move || questions.ask(&asked_here())
            });
            assert!(matches!(told.blocking_recv(), Some(Event::Asked { number: 1, .. })));
            if is_over {
                assert!(matches!(told.blocking_recv(), Some(Event::Unanswered { number: 1, has_moved_on: false })));
                assert!(questions.open().is_empty());
            }
            // Too late, or in time: a clock that stands still gives all the time there is.
            questions.answer(1, true);
            assert_eq!(asking.join().unwrap(), !is_over);
        }
    }

    #[test]
    fn a_call_that_moved_on_leaves_the_screen_and_is_a_no() {
        let (questions, mut told) = scene(|| Timestamp::from_ms(NOW));
        let asking = std::thread::spawn({
            let questions = questions.clone();
            move || questions.ask(&asked_here())
        });
        let Some(Event::Asked { number, question }) = told.blocking_recv() else { panic!("it is asked") };
        questions.move_on("call_of_somebody_else");
        assert_eq!(questions.open().len(), 1);
        questions.move_on(&question.call.id);
        assert!(!asking.join().unwrap());
        let left = told.blocking_recv();
        assert!(matches!(left, Some(Event::Unanswered { number: left, has_moved_on: true }) if left == number));
        questions.answer(number, true);
    }

    #[test]
    fn a_call_that_moves_on_while_it_is_put_on_the_screen_leaves_it_all_the_same() {
        let (questions, mut told) = scene(|| Timestamp::from_ms(NOW));
        let call = asked_here().call.id;
        // Between its being open and its being told: the question comes, and then goes.
        questions.open().insert(0, (call.clone(), mpsc::channel().0));
        questions.move_on(&call);
        assert!(questions.open().is_empty() && told.try_recv().is_err(), "whoever asks says that it is over");
        for round in 1..=50 {
            let asking = std::thread::spawn({
                let questions = questions.clone();
                move || questions.ask(&asked_here())
            });
            while !asking.is_finished() {
                questions.move_on(&call);
            }
            assert!(!asking.join().unwrap());
            assert!(matches!(told.try_recv(), Ok(Event::Asked { number, .. }) if number == round));
            assert!(matches!(told.try_recv(), Ok(Event::Unanswered { number, .. }) if number == round));
            assert!(told.try_recv().is_err());
        }
    }

    #[test]
    fn without_a_screen_to_ask_on_and_without_an_end_it_is_a_no_at_once() {
        let (questions, told) = scene(|| Timestamp::from_ms(NOW));
        drop(told);
        assert!(!questions.ask(&asked_here()));
        let (questions, _told) = scene(|| Timestamp::from_ms(NOW));
        let mut endless = asked_here();
        endless.call.expires_at = None;
        assert!(!questions.ask(&endless));
        assert!(questions.open().is_empty());
    }
}
