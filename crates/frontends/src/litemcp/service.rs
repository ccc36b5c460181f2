//! What a LiteMCP client gets from a namespace: one tool, which may be the way to all of them (decision 27).

use std::num::NonZeroU64;
use std::sync::Arc;

use manifold_engine::{
    Access, ClientFacts, ClientId, FrameStatus, Gateway, KnownTool, Outbox, Requester, Tap, Wish,
};
use manifold_protocol::dialect::litemcp::{Arguments, CallResult, Message, Tool, ToolCall, Word, named};
use manifold_protocol::raw::Kind;
use manifold_protocol::{Call, Failure, Fault, Id, Method, Raw, RawObject, Revision};
use tracing::{debug, warn};

use super::dispatcher;
use crate::one_shot::{ask, ask_as};
use crate::tap::tap;

/// One tool, to one client.
pub struct Service {
    gateway: Result<Arc<Gateway>, Fault>,
    /// The one tool by any name it goes by; `None`: the dispatcher.
    tool: Option<String>,
    client: Option<ClientId>,
    requester: Arc<Requester>,
    /// Whether the client is gone when this is: else its connection tells.
    ends_with_it: bool,
    /// Where the client's messages are seen.
    tap: Arc<Tap>,
}

impl Service {
    pub fn new(gateway: Result<Arc<Gateway>, Fault>, tool: Option<String>) -> Self {
        let client = gateway.as_ref().ok().map(|gateway| gateway.passer_by());
        let tap = Arc::new(match &gateway {
            Ok(gateway) => tap(gateway, client),
            Err(_) => Tap::unwatched(),
        });
        Self { gateway, tool, client, requester: Requester::local(), ends_with_it: true, tap }
    }

    /// Tells who asks, by a connection that may have more to ask.
    pub(crate) fn of_client(mut self, client: ClientId, requester: &Arc<Requester>) -> Self {
        self.client = Some(client);
        if let Ok(gateway) = &self.gateway {
            self.tap = Arc::new(tap(gateway, self.client));
        }
        self.requester = Arc::clone(requester);
        self.ends_with_it = false;
        self
    }

    /// Tells that its client is the only one there will be: servers wait while it does not read (F20).
    pub(crate) fn serve_only(&self, outbox: &Arc<Outbox>) {
        if let Ok(gateway) = &self.gateway {
            gateway.serve_only(outbox);
        }
    }

    /// Tells that its client, or we, are leaving: no list waits for servers any more (D2).
    pub(crate) fn leave(&self) {
        if let Ok(gateway) = &self.gateway {
            gateway.leave();
        }
    }

    /// Returns where the client's messages are seen, if anybody watches.
    pub(crate) fn watched(&self) -> Option<&Arc<Tap>> {
        Some(&self.tap).filter(|tap| tap.is_on())
    }

    /// Answers a message; those that ask nothing of a server have no answer.
    pub(crate) async fn answer(&self, message: Message) -> Option<Message> {
        let Message { id, word, .. } = message;
        debug!(%id, ?word, "message");
        let refuse = |id: Id, why: &str| {
            let data = CallResult::failure(None, why).encode();
            Some(Message::new(id, Word::Result, Some(data)))
        };
        match word {
            Word::Info | Word::Result => {
                warn!("a LiteMCP message was ignored: `type` must be get or call (id {id})");
                None
            }
            _ if !message.version.is_some_and(|version| version.is_spoken()) => refuse(id, OTHER_VERSION),
            Word::Get => match self.describe().await {
                Ok(tool) => Some(Message::new(id, Word::Info, Some(tool.encode()))),
                Err(fault) => refuse(id, &fault.message()),
            },
            Word::Call => match message.data.as_ref().and_then(ToolCall::parse) {
                Some(call) => {
                    let number = self.watched().and_then(|tap| tap.number_of(&id));
                    let result = self.call(call, number).await.0.encode();
                    Some(Message::new(id, Word::Result, Some(result)))
                }
                None => refuse(id, "`data` must have `tool`, and `arguments` as a list"),
            },
        }
    }

    /// Returns the tool (S4-8).
    pub(crate) async fn describe(&self) -> Result<Tool, Fault> {
        let gateway = self.gateway()?;
        match &self.tool {
            Some(name) => {
                let known = self.look_up(gateway, name).await?;
                let tool = known.definition().as_ref().and_then(Tool::from_mcp);
                // Under the name it was asked for by, so that a call can use the same.
                let tool = tool.map(|tool| Tool { name: name.clone(), ..tool });
                tool.ok_or_else(|| Fault::UnknownTool(name.clone()))
            }
            None => {
                let list =
                    ask(gateway, Call::new(Method::ToolsList, None), self.client, &self.requester).await;
                let list = list.map_err(|failure| Fault::Internal(explain(&failure)))?;
                Ok(dispatcher::describe(&gateway.introduction().name, &list.into_body()))
            }
        }
    }

    /// Returns why there is no such tool, if so.
    pub(crate) async fn missing(&self) -> Option<Fault> {
        match (self.gateway(), &self.tool) {
            (Ok(gateway), Some(name)) => self.look_up(gateway, name).await.err(),
            (Ok(_), None) => None,
            (Err(fault), _) => Some(fault),
        }
    }

    /// Uses the tool (S4-9); whatever goes wrong is a result that says so (S4-11). Also returns whether the same may be
    /// asked again in a moment.
    pub(crate) async fn call(&self, call: ToolCall, number: Option<NonZeroU64>) -> (CallResult, Option<u64>) {
        let failed = |params, why: &str| (CallResult::failure(params, why), None);
        if !call.is_spoken {
            return failed(None, OTHER_VERSION);
        }
        match self.find(&call).await {
            Ok(Requested::Tool(tool)) => match Arguments::convert(&tool.input_schema, &call.arguments) {
                Ok(Arguments { values, params }) => {
                    self.run(&tool.exposed_name, values, params, number).await
                }
                Err(error) => {
                    let params = named(&tool.input_schema, &call.arguments);
                    failed(Some(params), &format!("'{}': {error}", call.tool))
                }
            },
            Ok(Requested::Dispatcher) => match dispatcher::read(&call) {
                Ok(dispatcher::DispatcherCall { tool, arguments, params }) => {
                    self.run(&tool, arguments, params, number).await
                }
                Err(error) => {
                    let params = named(&dispatcher::schema(), &call.arguments);
                    failed(Some(params), &format!("'{}': {error}", call.tool))
                }
            },
            Err(fault) => failed(None, &fault.message()),
        }
    }

    /// Finds a tool, if whoever asks may use it.
    async fn look_up(&self, gateway: &Arc<Gateway>, name: &str) -> Result<KnownTool, Fault> {
        let known = gateway.look_up(name, &self.requester.principal).await?;
        match gateway.access(&self.requester, Wish::Tool(&known.exposed_name)) {
            Access::Hidden => Err(Fault::UnknownTool(name.to_owned())),
            Access::Granted | Access::NeedsScope(_) => Ok(known),
        }
    }

    async fn find(&self, call: &ToolCall) -> Result<Requested, Fault> {
        let gateway = self.gateway()?;
        match &self.tool {
            None if call.tool == gateway.introduction().name => Ok(Requested::Dispatcher),
            None => Ok(Requested::Tool(self.look_up(gateway, &call.tool).await?)),
            Some(name) => {
                let own = self.look_up(gateway, name).await?;
                let is_own = call.tool == *name
                    || self
                        .look_up(gateway, &call.tool)
                        .await
                        .is_ok_and(|one| one.exposed_name == own.exposed_name);
                if is_own { Ok(Requested::Tool(own)) } else { Err(Fault::UnknownTool(call.tool.clone())) }
            }
        }
    }

    async fn run(
        &self,
        exposed_name: &str,
        arguments: Raw,
        params: Raw,
        number: Option<NonZeroU64>,
    ) -> (CallResult, Option<u64>) {
        let gateway = match self.gateway() {
            Ok(gateway) => gateway,
            Err(fault) => return (CallResult::failure(Some(params), &fault.message()), None),
        };
        let mut call = RawObject::default();
        call.set("name", Raw::string(exposed_name));
        call.set("arguments", arguments);
        let call = Call::new(Method::ToolsCall, Some(call.into_raw()));
        let reply = ask_as(gateway, call, self.client, &self.requester, number).await;
        match reply {
            Ok(answer) => (CallResult::from_mcp(params, &answer.plain()), None),
            Err(failure) => {
                let retry_after = match &failure {
                    Failure::Fault(fault) => fault.retry_after_secs(),
                    Failure::Peer(_) => None,
                };
                let is_late = matches!(&failure, Failure::Fault(Fault::TimedOut { .. }));
                if let (true, Some(tap), Some(number)) = (is_late, self.watched(), number) {
                    tap.note_call(number, FrameStatus::Timeout);
                }
                (CallResult::failure(Some(params), &explain(&failure)), retry_after)
            }
        }
    }

    /// Returns the namespace. Its servers may start from now on, and are told that nobody here can be asked.
    fn gateway(&self) -> Result<&Arc<Gateway>, Fault> {
        let gateway = self.gateway.as_ref().map_err(Clone::clone)?;
        gateway.admit(|| ClientFacts {
            capabilities: Raw::from_static("{}"),
            info: Raw::from_static(concat!(
                r#"{"name":"manifold-litemcp","version":""#,
                env!("CARGO_PKG_VERSION"),
                r#""}"#
            )),
            revision: Revision::LATEST,
        });
        Ok(gateway)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let (Ok(gateway), Some(client), true) = (&self.gateway, self.client, self.ends_with_it) {
            gateway.passed_by(client);
        }
    }
}

const OTHER_VERSION: &str =
    "the message is of another version of LiteMCP; 1.x is spoken here: \"version\": [1, 0, 0]";

/// What a call asks for.
enum Requested {
    Tool(KnownTool),
    Dispatcher,
}

/// Puts an error in words, for clients that have no codes.
fn explain(failure: &Failure) -> String {
    match failure {
        Failure::Fault(fault) => fault.message(),
        Failure::Peer(error) => {
            let message = error.get("message").filter(|message| message.kind() == Kind::String);
            let message = message.as_ref().and_then(|message| message.to_lossy_text());
            message.map_or_else(|| error.as_str().to_owned(), |message| message.into_owned())
        }
    }
}
