//! The `/chat/completions` protocol: OpenAI's, and that of the many servers that speak it.

mod answers;
mod requests;

use crate::calls::Endpoint;
use crate::names::WireNames;
use crate::{ChatModel, Reply, Request, Result};
use answers::Completion;
use futures_util::future::BoxFuture;

pub(crate) struct OpenAi {
    pub(crate) endpoint: Endpoint,
}

impl ChatModel for OpenAi {
    fn ask<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move {
            let names = WireNames::new(&request.tools);
            let body = requests::written_down(&requests::body(request, &names))?;
            let mut completion = Completion::default();
            self.endpoint.call(body, &mut completion, heard).await?;
            completion.finish(&request.model, &names)
        })
    }
}
