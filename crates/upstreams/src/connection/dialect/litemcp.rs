//! LiteMCP: a server is one tool, knows two requests and nothing else, and has words of its own for them. Inside it is a
//! server like any other.

mod numbers;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use manifold_engine::Exchange;
use manifold_protocol::dialect::litemcp::{CallResult, Message, MessageError, Tool, ToolCall, Word};
use manifold_protocol::framing::{Frame, FrameError, Line};
use manifold_protocol::{Call, Fault, Id, Method, Raw, RawObject, Reply};
use tokio::sync::oneshot;

use super::{Dialect, Written, legacy};
use crate::connection::Connection;
use crate::connection::post::{Post, Poster};
use crate::connection::table::{Origin, Pending};
use crate::logs::quote;
pub(super) use numbers::Numbers;

pub(crate) struct LiteMcp {
    way: Way,
    /// Set by the first answer to `get`; one life has one tool.
    tool: OnceLock<Tool>,
}

/// How requests reach the server.
pub(crate) enum Way {
    /// Numbered messages on a pipe or a WebSocket.
    Messages(Numbers),
    /// Each on its own, over HTTP.
    Posts(Arc<dyn Poster>),
}

impl LiteMcp {
    pub(super) fn new(way: Way) -> Self {
        Self { way, tool: OnceLock::new() }
    }

    /// Goes on with a server whose tool is known.
    pub(super) fn resume(way: Way, tool: Tool) -> Self {
        Self { way, tool: OnceLock::from(tool) }
    }

    pub(super) fn tool(&self) -> Option<&Tool> {
        self.tool.get()
    }

    /// Returns the last number given, and which call each stands for that is in use.
    pub(super) fn numbers(&self) -> (u32, Vec<(u32, u64)>) {
        match &self.way {
            Way::Messages(numbers) => numbers.save(),
            Way::Posts(_) => (0, Vec::new()),
        }
    }

    /// Answers what the server has no word for; gives back the calls of its tool.
    pub(super) fn intercept(&self, call: Call, exchange: Exchange) -> Option<(Call, Exchange)> {
        let (call, exchange) = legacy::intercept(call, exchange)?;
        match call.method {
            Method::ToolsCall => match self.tool_call(&call) {
                Ok(_) => return Some((call, exchange)),
                Err(fault) => exchange.fail(fault),
            },
            Method::Ping | Method::SetLevel => exchange.finish(Ok(Raw::from_static("{}"))),
            other => exchange.fail(Fault::UnknownMethod(other.as_str().to_owned())),
        }
        None
    }

    /// Answers our own question for its tools once it has told of its tool: a busy server need not be asked again.
    pub(super) fn answer_own(&self, call: &Call) -> Option<Raw> {
        if call.method == Method::ToolsList { self.list() } else { None }
    }

    /// Writes a request: as a message, or into the hands of the poster.
    pub(super) fn write(&self, id: u64, call: Call, pending: &mut Pending) -> Written<'_> {
        let (word, data) = match call.method {
            Method::ToolsCall => (Word::Call, self.tool_call(&call).unwrap_or_else(|_| Raw::null())),
            _ => (Word::Get, Raw::from_static("{}")),
        };
        match &self.way {
            Way::Messages(numbers) => {
                let message = Message::new(numbers.give(id), word, Some(data));
                Written::Message(message.encode().bytes().into())
            }
            Way::Posts(poster) => {
                let (leave, left) = oneshot::channel();
                pending.leave = Some(leave);
                let (method, body) = (call.method, data.bytes());
                Written::Post(&**poster, Post { call: id, method, params: data, body: body.into(), left })
            }
        }
    }

    /// Takes one message. What cannot be read, or answers nothing, is counted and dropped (S4-10).
    pub(super) fn hear(&self, connection: &Connection, bytes: Bytes) {
        match Message::parse(bytes.clone()) {
            Ok(Message { id, word: Word::Info | Word::Result, data, .. }) => match self.numbered(&id) {
                Some(call) => connection.receive_result(call, data.unwrap_or_else(Raw::null)),
                None => connection.complain("an answer that nobody waits for"),
            },
            Ok(message) => connection.complain(&format!("a `{:?}`, which only clients send", message.word)),
            Err(why) => {
                if let MessageError::NotJson(_) = why {
                    connection.logs.push_noise(&bytes);
                }
                connection.complain(&format!("not a message ({why}): {}", quote(&bytes, 120)));
            }
        }
    }

    /// Reads the answer to a request: what the call came to, or the tool.
    pub(super) fn read(&self, connection: &Connection, origin: Origin, data: &Raw) -> Reply {
        if origin != Origin::Client {
            return self.learn_tool(connection, data).map(Into::into).map_err(Into::into);
        }
        match CallResult::parse(data) {
            Some(result) => Ok(result.to_mcp().into()),
            None => Err(connection.malformed("its result is not one of LiteMCP 1").into()),
        }
    }

    /// Forgets a call that nobody waits for; the protocol has no word to tell the server by.
    pub(super) fn forget(&self, id: u64) {
        if let Way::Messages(numbers) = &self.way {
            numbers.forget(id);
        }
    }

    fn tool_call(&self, call: &Call) -> Result<Raw, Fault> {
        let tool = self.tool.get().ok_or_else(|| Fault::Internal("its tool is not known yet".to_owned()))?;
        let arguments = call.params.as_ref().and_then(|params| params.get("arguments"));
        let call = ToolCall::positional(tool, arguments.as_ref());
        call.map(|call| call.encode()).map_err(|why| Fault::InvalidParams(why.to_string()))
    }

    /// Learns what the server's tool is. Returns it as a list.
    fn learn_tool(&self, connection: &Connection, data: &Raw) -> Result<Raw, Fault> {
        let listed = Tool::parse(&data.detached()).and_then(|tool| {
            let _ = self.tool.set(tool);
            self.list()
        });
        listed.ok_or_else(|| connection.malformed("it tells of no tool of LiteMCP 1"))
    }

    /// Returns the one tool as a list.
    fn list(&self) -> Option<Raw> {
        let mut list = RawObject::default();
        list.set("tools", Raw::array(&[self.tool.get()?.to_mcp()]));
        Some(list.into_raw())
    }

    fn numbered(&self, id: &Id) -> Option<u64> {
        match &self.way {
            Way::Messages(numbers) => numbers.take(id),
            Way::Posts(_) => None,
        }
    }
}

impl Connection {
    /// Takes what a server wrote to a pipe, cut as LiteMCP cuts it.
    pub(crate) fn receive_frame(&self, frame: Frame) {
        let (id, why) = match frame {
            Frame::Message(bytes) => return self.receive(Line::Whole(bytes)),
            Frame::Refused { id, why } => (id, why),
        };
        self.complain(&format!("a message that cannot be taken: {why:?}"));
        let fault = match why {
            FrameError::TooLong => self.too_large(),
            _ => self.malformed("its message cannot be read"),
        };
        if let (Dialect::LiteMcp(lite), Some(id)) = (self.dialect(), id)
            && let Some(call) = lite.numbered(&id)
        {
            self.fail(call, fault);
        }
    }

    /// Learns the server's tool where it was asked for before there was a connection.
    pub(crate) fn learn_tool(&self, data: &Raw) -> Result<Raw, Fault> {
        match self.dialect() {
            Dialect::LiteMcp(lite) => lite.learn_tool(self, data),
            _ => Err(self.malformed("it does not speak LiteMCP 1")),
        }
    }
}

#[cfg(test)]
mod tests;
