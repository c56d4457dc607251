//! The MCP side: what is listed, what is called.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
    ListToolsResult, PaginatedRequestParams, Prompt, PromptMessage, ProtocolVersion, Role,
    ServerCapabilities, ServerConfig, Tool, ToolsCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::engine::Engine;
use super::offers::Offers;
use super::{arguments, calls, report, result};
use crate::access::Policy;
use crate::access::Visitor;
use crate::index::Surface;
use crate::surface;

/// How long a client may keep `tools/list` (2026-07-28); the list changes only
/// with the index generation.
const LIST_TTL_MS: u64 = 300_000;

/// Requests of the protocol whose parameters rmcp may fail to read; it then
/// hands them on as unknown ones.
const KNOWN_METHODS: [&str; 6] =
    ["initialize", "tools/list", "tools/call", "prompts/list", "prompts/get", "server/discover"];

/// One session's view of the engine.
#[derive(Clone)]
pub(super) struct Discovery {
    engine: Arc<Engine>,
    /// Who asks, where no request says it.
    visitor: Visitor,
    /// What was found in this session, where it is shown as tools of their own.
    offers: Arc<Offers>,
}

impl Discovery {
    /// For one client, who may do what `policy` allows.
    pub(super) fn new(engine: Arc<Engine>, policy: Arc<Policy>) -> Self {
        let visitor = Visitor { policy, ..Visitor::default() };
        Self { engine, visitor, offers: Arc::default() }
    }

    /// For HTTP, where each request says whose it is.
    pub(super) fn of_visitors(engine: Arc<Engine>) -> Self {
        Self { engine, visitor: Visitor::default(), offers: Arc::default() }
    }

    fn visitor(&self, context: &RequestContext<RoleServer>) -> Visitor {
        let parts = context.extensions.get::<hyper::http::request::Parts>();
        let visitor = parts.and_then(|parts| parts.extensions.get::<Visitor>());
        visitor.unwrap_or(&self.visitor).clone()
    }

    /// Loads model and index behind what the client is doing now.
    fn warm_up(&self) {
        let engine = Arc::clone(&self.engine);
        tokio::task::spawn_blocking(move || engine.warm_up());
    }

    /// What the index says of itself to who asks. Without a policy it needs no
    /// more than a small file.
    async fn surface(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Arc<Surface>, ErrorData> {
        let (engine, visitor) = (Arc::clone(&self.engine), self.visitor(context));
        if visitor.policy.allows_all() {
            return Ok(engine.surface());
        }
        let seen = tokio::task::spawn_blocking(move || engine.surface_for(&visitor)).await;
        seen.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// A list that follows from a token is nobody else's.
    fn scope(&self, context: &RequestContext<RoleServer>) -> CacheScope {
        let visitor = self.visitor(context);
        match visitor.policy.allows_all() && !visitor.has_token {
            true => CacheScope::Public,
            false => CacheScope::Private,
        }
    }

    fn unknown(&self, name: &str) -> ErrorData {
        let discover = surface::TOOL_NAME;
        let known = match self.engine.backends() {
            Some(_) => format!("the tools are `{discover}` and `{}`", surface::CALL_NAME),
            None => format!("the only tool is `{discover}`"),
        };
        let name = arguments::shown(name);
        ErrorData::invalid_params(format!("unknown tool {name:?}; {known}"), None)
    }

    async fn find(
        &self,
        given: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (visitor, offers) = (self.visitor(context), self.offers_of(context));
        let changed = Arc::new(AtomicBool::new(false));
        let has_changed = Arc::clone(&changed);
        let (engine, _under_way) = (Arc::clone(&self.engine), self.engine.calls.token());
        engine.first_index().await;
        let answered = tokio::task::spawn_blocking(move || {
            let (ask, options) = match arguments::read(&given, &engine.defaults) {
                Ok(read) => read,
                Err(error) => return Ok(result::failure(&error.to_string())),
            };
            let start = Instant::now();
            let routed = engine.route(&ask, options, &visitor);
            report::discovered(&engine, &visitor, &routed, start.elapsed());
            match routed {
                Ok(routed) => {
                    let found = &routed.reply.matches;
                    has_changed.store(offers.is_some_and(|it| it.add(found)), Relaxed);
                    Ok(result::success(&routed.reply))
                }
                Err(error) => result::from_error(&error),
            }
        });
        let result = answered
            .await
            .map_err(|error| ErrorData::internal_error(format!("routing failed: {error}"), None))?;
        if changed.load(Relaxed) {
            drop(context.peer.notify_tool_list_changed().await);
        }
        Ok(result?.into())
    }

    /// The tools of this session, where it may have some.
    fn offers_of(&self, context: &RequestContext<RoleServer>) -> Option<Arc<Offers>> {
        let is_dynamic = self.engine.is_dynamic && !is_stateless(context);
        let may = is_dynamic && self.engine.backends().is_some();
        may.then(|| Arc::clone(&self.offers))
    }
}

impl ServerHandler for Discovery {
    fn get_info(&self) -> ServerConfig {
        info(&self.engine, &self.engine.surface())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        let surface = self.surface(&context).await?;
        result.instructions = info(&self.engine, &surface).instructions;
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let surface = self.surface(&context).await?;
        let mut info = info(&self.engine, &surface);
        // This era has no session whose list could change.
        info.capabilities.tools = Some(ToolsCapability::default());
        Ok(DiscoverResult::from_server_info(versions, info))
    }

    async fn on_initialized(&self, _context: NotificationContext<RoleServer>) {
        self.warm_up();
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        refuse_cursor(request)?;
        self.warm_up();
        report::listed(&self.engine);
        let mut tools = vec![tool(&*self.surface(&context).await?)?];
        if self.engine.backends().is_some() {
            tools.push(read_tool(surface::call_entry())?);
        }
        tools.extend(self.offers_of(&context).into_iter().flat_map(|offers| offers.list()));
        let mut list = ListToolsResult::with_all_items(tools);
        list.ttl_ms = Some(LIST_TTL_MS);
        list.cache_scope = Some(self.scope(&context));
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        match &*request.name {
            surface::TOOL_NAME => self.find(given, &context).await,
            surface::CALL_NAME if self.engine.backends().is_some() => {
                let visitor = self.visitor(&context);
                calls::call(&self.engine, visitor, given, context).await.map(Into::into)
            }
            name if self.offers_of(&context).is_some() => {
                let given = JsonObject::from_iter([
                    ("name".to_owned(), name.into()),
                    ("arguments".to_owned(), Value::Object(given)),
                ]);
                let visitor = self.visitor(&context);
                calls::call(&self.engine, visitor, given, context).await.map(Into::into)
            }
            name => Err(self.unknown(name)),
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        refuse_cursor(request)?;
        let description = "System prompt that teaches a model to ask for tools by itself";
        let prompt = Prompt::new(surface::PROMPT_NAME, Some(description), None);
        let mut list = ListPromptsResult::with_all_items(vec![prompt]);
        list.ttl_ms = Some(LIST_TTL_MS);
        list.cache_scope = Some(CacheScope::Public);
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != surface::PROMPT_NAME {
            let (name, known) = (arguments::shown(&request.name), surface::PROMPT_NAME);
            let said = format!("unknown prompt {name:?}; the only prompt is `{known}`");
            return Err(ErrorData::invalid_params(said, None));
        }
        let text = surface::system_prompt(&*self.surface(&context).await?);
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        // Gone from the later era, whatever its parameters.
        let is_gone = method == "initialize" && is_stateless(&context);
        if !is_gone && KNOWN_METHODS.contains(&method.as_str()) {
            return Err(ErrorData::invalid_params(format!("bad parameters for {method}"), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}

/// Lists have one page: only no cursor or the empty one is valid.
fn refuse_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(cursor) if !cursor.is_empty() => {
            Err(ErrorData::invalid_params("unknown cursor; the list has one page", None))
        }
        _ => Ok(()),
    }
}

/// Whether the client is of the era without sessions.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn info(engine: &Engine, surface: &Surface) -> ServerConfig {
    let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts();
    let capabilities = match engine.is_dynamic {
        true => capabilities.enable_tool_list_changed().build(),
        false => capabilities.build(),
    };
    let mut info = ServerConfig::new(capabilities);
    info.server_info = Implementation::new("toolscout", env!("CARGO_PKG_VERSION"));
    info.instructions = Some(match engine.backends() {
        Some(_) => surface::with_calls(&surface.instructions),
        None => surface.instructions.clone(),
    });
    info
}

fn tool(surface: &Surface) -> Result<Tool, ErrorData> {
    let mut entry = surface::tool_entry(&surface.tool_description);
    if let Some(entry) = entry.as_object_mut() {
        entry.insert("outputSchema".to_owned(), surface::output_schema());
    }
    read_tool(entry)
}

fn read_tool(entry: Value) -> Result<Tool, ErrorData> {
    serde_json::from_value::<Tool>(entry)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None::<Value>))
}
