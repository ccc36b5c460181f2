//! The server as rmcp sees it: lists, prompts, resources, completion, logging and subscriptions.
#![expect(deprecated, reason = "what the newest revision drops is what the older ones are tested for")]

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, GetTaskParams,
    GetTaskResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    LoggingLevel, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::task_manager::TaskManager;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::Era;
use super::catalog::{self, PNG, typed};
use super::questions::{Outcome, Retry, Script, elicit_one, is_modern};
use super::runs::Runs;

const TTL_MS: u64 = 60_000;

type Context = RequestContext<RoleServer>;

#[derive(Clone)]
pub(super) struct Server {
    pub(super) era: Era,
    pub(super) runs: Runs,
    pub(super) tasks: TaskManager,
    pub(super) listeners: Listeners,
    session: Arc<Mutex<Session>>,
}

/// What a legacy session remembers.
struct Session {
    level: LoggingLevel,
    subscribed: HashSet<String>,
}

impl Default for Session {
    fn default() -> Self {
        Self { level: LoggingLevel::Debug, subscribed: HashSet::new() }
    }
}

impl Server {
    pub(super) fn new(era: Era, runs: Runs) -> Self {
        Self {
            era,
            runs,
            tasks: TaskManager::new(),
            listeners: Listeners::default(),
            session: Arc::default(),
        }
    }

    /// Returns the same server with a memory of its own.
    pub(super) fn for_session(&self) -> Self {
        Self { session: Arc::default(), ..self.clone() }
    }

    /// Sends a log line at info level if this caller wants one.
    pub(super) async fn log(&self, context: &Context, line: &str) {
        let wanted = if is_modern(context) {
            context.meta.log_level()
        } else {
            Some(self.session.lock().expect("nobody panics with the session").level)
        };
        if wanted.is_some_and(|level| matches!(level, LoggingLevel::Debug | LoggingLevel::Info)) {
            let message = json!({"level": "info", "logger": "conformance-server", "data": line});
            // Who has gone wants no news.
            let _ = context.peer.notify_logging_message(typed(message)).await;
        }
    }
}

/// The open `subscriptions/listen` streams.
#[derive(Clone, Default)]
pub(super) struct Listeners {
    sinks: Arc<Mutex<HashMap<u64, SubscriptionSink>>>,
    next: Arc<AtomicU64>,
    /// How often each list changed; it shows in the list, since news of no change are no news.
    tool_changes: Arc<AtomicU64>,
    prompt_changes: Arc<AtomicU64>,
}

impl Listeners {
    pub(super) async fn tools_changed(&self, context: &Context) {
        self.tool_changes.fetch_add(1, Ordering::SeqCst);
        for sink in self.all() {
            let _ = sink.notify_tool_list_changed().await;
        }
        if !is_modern(context) {
            let _ = context.peer.notify_tool_list_changed().await;
        }
    }

    pub(super) async fn prompts_changed(&self, context: &Context) {
        self.prompt_changes.fetch_add(1, Ordering::SeqCst);
        for sink in self.all() {
            let _ = sink.notify_prompt_list_changed().await;
        }
        if !is_modern(context) {
            let _ = context.peer.notify_prompt_list_changed().await;
        }
    }

    fn all(&self) -> Vec<SubscriptionSink> {
        self.sinks.lock().expect("nobody panics with the listeners").values().cloned().collect()
    }
}

fn changed(times: &AtomicU64) -> String {
    format!("Changed {} times", times.load(Ordering::SeqCst))
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = json!({
            "tools": {"listChanged": true},
            "prompts": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "completions": {},
            "logging": {},
        });
        if self.era != Era::Legacy {
            capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
        }
        typed(json!({
            "protocolVersion": self.era.versions().last().expect("every era has a version"),
            "capabilities": capabilities,
            "serverInfo": {"name": "manifold-conformance-server", "version": env!("CARGO_PKG_VERSION")},
            "instructions": "Offers what the MCP conformance suite calls by name.",
        }))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(self.era.versions())
    }

    /// Tells the transport which arguments must come as headers too.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == "test_custom_header").then(catalog::header_tool)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = catalog::tools();
        if let Some(tool) = tools.last_mut() {
            tool.title = Some(changed(&self.listeners.tool_changes));
        }
        let list = ListToolsResult { tools, ..Default::default() };
        Ok(list.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let list = ListResourcesResult { resources: catalog::resources(), ..Default::default() };
        Ok(list.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let list =
            ListResourceTemplatesResult { resource_templates: catalog::templates(), ..Default::default() };
        Ok(list.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(contents) = catalog::contents(&request.uri) else {
            let uri = json!({"uri": request.uri});
            return Err(ErrorData::resource_not_found("Resource not found", Some(uri)));
        };
        let result = ReadResourceResult::new(vec![typed(contents)]);
        Ok(result.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public).into())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.session.lock().expect("nobody panics with the session").subscribed.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.session.lock().expect("nobody panics with the session").subscribed.remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut prompts = catalog::prompts();
        if let Some(prompt) = prompts.last_mut() {
            prompt.title = Some(changed(&self.listeners.prompt_changes));
        }
        let list = ListPromptsResult { prompts, ..Default::default() };
        Ok(list.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let argument = |name| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let say = |text: &str| json!({"role": "user", "content": {"type": "text", "text": text}});
        let messages = match &*request.name {
            "test_simple_prompt" => json!([say("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => {
                json!([say(&format!("arg1='{}', arg2='{}'", argument("arg1"), argument("arg2")))])
            }
            "test_prompt_with_embedded_resource" => json!([
                {"role": "user", "content": {"type": "resource", "resource": {
                    "uri": argument("resourceUri"), "mimeType": "text/plain", "text": "A resource in a prompt.",
                }}},
                say("Please read the resource above."),
            ]),
            "test_prompt_with_image" => json!([
                {"role": "user", "content": {"type": "image", "data": PNG, "mimeType": "image/png"}},
                say("Please look at the picture above."),
            ]),
            "test_input_required_result_prompt" => {
                let question = elicit_one("What context should the prompt use?", "context", "string");
                let retry = Retry {
                    answers: request.input_responses.unwrap_or_default(),
                    state: request.request_state,
                };
                match Script::new(json!({"user_context": question})).play(retry, &context).await? {
                    Outcome::Ask(round) => return Ok(round.into()),
                    Outcome::Answered(answers) => {
                        let about =
                            answers["user_context"]["content"]["context"].as_str().unwrap_or("nothing");
                        json!([say(&format!("Tell me about {about}."))])
                    }
                }
            }
            name => return Err(ErrorData::invalid_params(format!("Unknown prompt: {name}"), None)),
        };
        Ok(GetPromptResult::new(typed(messages)).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let value = &request.argument.value;
        let values: Vec<String> = ["one", "two"].iter().map(|end| format!("{value}-{end}")).collect();
        Ok(CompleteResult::new(typed(json!({"values": values, "total": 2, "hasMore": false}))))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        self.session.lock().expect("nobody panics with the session").level = request.level;
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let key = self.listeners.next.fetch_add(1, Ordering::Relaxed);
        let sinks = &self.listeners.sinks;
        sinks.lock().expect("nobody panics with the listeners").insert(key, context.sink().clone());
        context.cancelled().await;
        sinks.lock().expect("nobody panics with the listeners").remove(&key);
        Ok(())
    }

    async fn get_task(&self, request: GetTaskParams, _: Context) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(&self, request: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }
}
