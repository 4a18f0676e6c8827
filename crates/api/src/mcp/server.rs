//! The server as the SDK sees it: each method finds out who asks and hands on to the file of its noun.

use super::answers::{protocol_error, tool_result};
use super::askers::Asker;
use super::subscriptions::{self, Watches};
use super::{completions, is_stateless, node_tools, prompts, resources, tasks, tools};
use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

const INSTRUCTIONS: &str = "\
Longhouse is the memory that you share with the other participants of a session. At the start of a task call \
shared_context with {\"action\":\"list_keys\"}, then read what concerns you; when you have a conclusion, write it under \
a key so that the others find it. If you have workspace_ tools, they are your lasting memory, beyond this task. Who you are is known from your credential: never say it yourself. A result with \
isError carries {\"error\":{\"code\",\"message\"}}; the message says what to do. The prompt shared_context_guide has \
this session's conventions.";

/// Those whose parameters have a shape, in every version.
const METHODS: [&str; 4] = ["completion/complete", "prompts/get", "resources/read", "tools/call"];
const METHODS_BEFORE: [&str; 3] = ["initialize", "resources/subscribe", "resources/unsubscribe"];
const METHODS_SINCE: [&str; 5] =
    ["server/discover", "subscriptions/listen", "tasks/cancel", "tasks/get", "tasks/update"];

/// One for each MCP session of an old version, one for each request of a new one. It knows nobody.
#[derive(Default)]
pub(super) struct Server {
    watches: Watches,
}

type Answer<T> = Result<T, ErrorData>;
type Asked = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

/// Every list is one page, so no cursor was ever given.
fn one_page(page: Page) -> Answer<()> {
    match page.and_then(|page| page.cursor) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params("there is no such page: this list has one page only", None)),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_completions()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_tasks()
            .build();
        let implementation = Implementation::new("longhouse", env!("CARGO_PKG_VERSION")).with_title("Longhouse");
        ServerConfig::new(capabilities).with_server_info(implementation).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(&self, page: Page, asked: Asked) -> Answer<ListToolsResult> {
        one_page(page)?;
        let tools = tools::visible_to(&Asker::of(&asked.extensions)?).await.map_err(protocol_error)?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(&self, call: CallToolRequestParams, asked: Asked) -> Answer<CallToolResponse> {
        let asker = Asker::of(&asked.extensions)?;
        let arguments = call.arguments.unwrap_or_default();
        if node_tools::is_one(&call.name) {
            return Ok(node_tools::call(&asker, &asked, &call.name, arguments).await);
        }
        match tools::call(&asker, &call.name, arguments).await {
            Some(outcome) => Ok(tool_result(outcome).into()),
            None => Err(ErrorData::invalid_params("there is no tool of that name: see tools/list", None)),
        }
    }

    async fn get_task(&self, wanted: GetTaskParams, asked: Asked) -> Answer<GetTaskResult> {
        tasks::get(&Asker::of(&asked.extensions)?, &wanted.task_id).await
    }

    async fn update_task(&self, told: UpdateTaskParams, asked: Asked) -> Answer<()> {
        tasks::update(&Asker::of(&asked.extensions)?, &told.task_id).await
    }

    async fn cancel_task(&self, unwanted: CancelTaskParams, asked: Asked) -> Answer<()> {
        tasks::cancel(&Asker::of(&asked.extensions)?, &unwanted.task_id).await
    }

    async fn list_resources(&self, page: Page, asked: Asked) -> Answer<ListResourcesResult> {
        one_page(page)?;
        Ok(ListResourcesResult::with_all_items(resources::list(&Asker::of(&asked.extensions)?).await?))
    }

    async fn list_resource_templates(&self, page: Page, _: Asked) -> Answer<ListResourceTemplatesResult> {
        one_page(page)?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(&self, read: ReadResourceRequestParams, asked: Asked) -> Answer<ReadResourceResponse> {
        Ok(resources::read(&Asker::of(&asked.extensions)?, &read.uri).await?.into())
    }

    async fn list_prompts(&self, page: Page, asked: Asked) -> Answer<ListPromptsResult> {
        one_page(page)?;
        Ok(ListPromptsResult::with_all_items(prompts::visible_to(&Asker::of(&asked.extensions)?)))
    }

    async fn get_prompt(&self, wanted: GetPromptRequestParams, asked: Asked) -> Answer<GetPromptResponse> {
        let asker = Asker::of(&asked.extensions)?;
        Ok(prompts::get(&asker, &wanted.name, wanted.arguments.unwrap_or_default()).await?.into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(subscriptions::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Answer<()> {
        subscriptions::listen(&context).await
    }

    async fn subscribe(&self, wanted: SubscribeRequestParams, asked: Asked) -> Answer<()> {
        self.watches.add(&Asker::of(&asked.extensions)?, &asked.peer, &wanted.uri).await
    }

    async fn unsubscribe(&self, unwanted: UnsubscribeRequestParams, asked: Asked) -> Answer<()> {
        Asker::of(&asked.extensions)?;
        self.watches.remove(&unwanted.uri).await;
        Ok(())
    }

    async fn on_custom_request(&self, request: CustomRequest, asked: Asked) -> Answer<CustomResult> {
        let method = request.method.as_str();
        let parts = asked.extensions.get::<Parts>();
        let more: &[&str] = if parts.is_some_and(is_stateless) { &METHODS_SINCE } else { &METHODS_BEFORE };
        // The SDK takes a known method whose parameters do not fit for one that it does not know.
        if METHODS.contains(&method) || more.contains(&method) {
            return Err(ErrorData::invalid_params(format!("the parameters of {} do not fit", request.method), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no such method", None))
    }

    async fn complete(&self, wanted: CompleteRequestParams, asked: Asked) -> Answer<CompleteResult> {
        let asker = Asker::of(&asked.extensions)?;
        Ok(CompleteResult::new(completions::propose(&asker, &wanted.argument).await?))
    }

    /// A client of an old version hears of new and lost keys without asking for it: from before it is answered, so that
    /// nothing falls between its first look and the first news.
    async fn initialize(&self, wanted: InitializeRequestParams, asked: Asked) -> Answer<InitializeResult> {
        self.watches.follow_own(&Asker::of(&asked.extensions)?, &asked.peer).await;
        asked.peer.set_peer_info(wanted.clone());
        self.negotiate_initialize(&wanted)
    }
}
