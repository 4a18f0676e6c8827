//! An outlet that keeps what is said and does what a test wants of a provider.

use super::place;
use domain::channels::{OutboundMessage, TELEGRAM_LONGEST};
use domain::workspaces::ChannelPlace;
use service::gateway::{Outlet, SendFailed, Sending};
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A handle; every clone is the same.
#[derive(Default, Clone)]
pub(super) struct Recorder(Arc<Tape>);

impl Deref for Recorder {
    type Target = Tape;

    fn deref(&self) -> &Tape {
        &self.0
    }
}

#[derive(Default)]
pub(super) struct Tape {
    pub(super) said: Mutex<Vec<OutboundMessage>>,
    /// Where, which message, and its new words.
    pub(super) concluded: Mutex<Vec<(String, String, String)>>,
    /// What becomes of the next ones: none is taken.
    failures: Mutex<VecDeque<Option<SendFailed>>>,
    /// A place where nothing ever comes to an end.
    pub(super) hanging: Mutex<Option<String>>,
    /// Whether what is taken is never answered.
    pub(super) is_mute: AtomicBool,
}

impl Tape {
    pub(super) fn failing(&self, times: usize, may_help_to_try_again: bool) {
        let failed =
            SendFailed { may_help_to_try_again, ..SendFailed::for_good("the provider failed with status 502") };
        self.failures.lock().unwrap().extend(vec![Some(failed); times]);
    }

    /// So many are taken before what is said next.
    pub(super) fn taking(&self, times: usize) {
        self.failures.lock().unwrap().extend(vec![None; times]);
    }

    pub(super) fn texts(&self) -> Vec<String> {
        self.said.lock().unwrap().iter().map(|message| message.text.clone()).collect()
    }

    /// What was said last, and its id.
    pub(super) fn last(&self) -> (OutboundMessage, String) {
        let said = self.said.lock().unwrap();
        (said.last().expect("something was said").clone(), said.len().to_string())
    }

    pub(super) fn endings(&self) -> Vec<String> {
        self.concluded.lock().unwrap().iter().map(|(_, _, text)| text.clone()).collect()
    }

    async fn answer(&self, place: &ChannelPlace) -> Result<(), SendFailed> {
        let hangs = self.hanging.lock().unwrap().as_deref() == Some(place.as_key().as_str());
        if hangs {
            std::future::pending::<()>().await;
        }
        self.failures.lock().unwrap().pop_front().flatten().map_or(Ok(()), Err)
    }
}

impl Outlet for Recorder {
    fn has(&self, channel: &str) -> bool {
        channel == "telegram"
    }

    fn longest(&self, _channel: &str) -> usize {
        TELEGRAM_LONGEST
    }

    fn send<'a>(&'a self, message: &'a OutboundMessage) -> Sending<'a, Vec<String>> {
        Box::pin(async move {
            message.check().expect("a provider would take it");
            self.answer(&message.place).await?;
            let id = {
                let mut said = self.said.lock().unwrap();
                said.push(message.clone());
                said.len().to_string()
            };
            if self.is_mute.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            Ok(vec![id])
        })
    }

    fn direct<'a>(&'a self, channel: &'a str, sender_id: &'a str) -> Sending<'a, ChannelPlace> {
        Box::pin(async move { Ok(place(channel, sender_id)) })
    }

    fn conclude<'a>(&'a self, place: &'a ChannelPlace, message_id: &'a str, text: &'a str) -> Sending<'a, ()> {
        Box::pin(async move {
            self.answer(place).await?;
            let ending = (place.as_key(), message_id.to_owned(), text.to_owned());
            self.concluded.lock().unwrap().push(ending);
            Ok(())
        })
    }
}
