//! The `/v1/messages` protocol, Anthropic's.

mod answers;
mod requests;

use crate::calls::Endpoint;
use crate::names::WireNames;
use crate::{ChatModel, Reply, Request, Result};
use answers::MessageAnswer;
use futures_util::future::BoxFuture;

pub(crate) const VERSION: &str = "2023-06-01";

pub(crate) struct Anthropic {
    pub(crate) endpoint: Endpoint,
}

impl ChatModel for Anthropic {
    fn ask<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move {
            let names = WireNames::new(&request.tools);
            let body = requests::body(request, &names).to_string().into_bytes();
            let mut answer = MessageAnswer::default();
            self.endpoint.call(body, &mut answer, heard).await?;
            answer.finish(&request.model, &names)
        })
    }
}
