//! A model whose every call is counted, timed and traced: what the engine asks, and what it asks again.

use super::figures::Asked;
use super::spans;
use crate::House;
use domain::rules::ProviderKind;
use futures_util::future::BoxFuture;
use llm::{ChatModel, Reply, Request};
use std::sync::Arc;
use std::time::Instant;
use tracing::Instrument;

pub(super) struct Watched {
    house: House,
    model: Arc<dyn ChatModel>,
    asked: Asked,
}

impl Watched {
    pub(super) fn new(house: &House, model: Arc<dyn ChatModel>, kind: Option<ProviderKind>) -> Self {
        Self { house: house.clone(), model, asked: Asked::of(kind) }
    }
}

impl ChatModel for Watched {
    fn ask<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, llm::Result<Reply>> {
        let ask = async move {
            let begun = Instant::now();
            let answer = self.model.ask(request, heard).await;
            self.house.turns().model_called(self.asked, answer.is_ok(), begun.elapsed());
            spans::answered(&answer);
            answer
        };
        Box::pin(ask.instrument(spans::chat(self.asked, request)))
    }
}
