//! What is different with a LiteMCP server: it is one tool, knows two requests and nothing else, and has words of its
//! own for them. Inside it is a server like any other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use manifold_engine::Exchange;
use manifold_protocol::dialect::litemcp::{CallResult, Message, MessageError, Tool, ToolCall, Word};
use manifold_protocol::framing::{Frame, FrameError};
use manifold_protocol::{Call, Fault, Id, Method, Raw, RawObject, Reply};
use tokio::sync::oneshot;

use super::modern::{Post, Poster};
use super::table::{Origin, Pending};
use super::{Connection, Ordering};
use crate::logs::quote;

pub(super) struct Lite {
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

/// Which call a message's number stands for. Our own numbers are larger than the `int` of many a server.
#[derive(Default)]
pub(crate) struct Numbers(Mutex<Numbered>);

#[derive(Default)]
struct Numbered {
    last: u32,
    calls: HashMap<u32, u64>,
}

impl Numbers {
    fn give(&self, call: u64) -> Id {
        let mut numbered = self.lock();
        // A server ignores a number it has seen: none comes back before all have been used.
        let next = |last: u32| if last == i32::MAX as u32 { 1 } else { last + 1 };
        let mut number = next(numbered.last);
        while numbered.calls.contains_key(&number) {
            number = next(number);
        }
        numbered.last = number;
        numbered.calls.insert(number, call);
        Id::number(number.into())
    }

    fn take(&self, id: &Id) -> Option<u64> {
        self.lock().calls.remove(&u32::try_from(id.as_u64()?).ok()?)
    }

    fn forget(&self, call: u64) {
        self.lock().calls.retain(|_, one| *one != call);
    }

    fn lock(&self) -> MutexGuard<'_, Numbered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lite {
    fn tool_call(&self, call: &Call) -> Result<Raw, Fault> {
        let tool = self.tool.get().ok_or_else(|| Fault::Internal("its tool is not known yet".to_owned()))?;
        let arguments = call.params.as_ref().and_then(|params| params.get("arguments"));
        let call = ToolCall::positional(tool, arguments.as_ref());
        call.map(|call| call.encode()).map_err(|why| Fault::InvalidParams(why.to_string()))
    }

    /// Returns the one tool as a list.
    fn list(&self) -> Option<Raw> {
        let mut list = RawObject::default();
        list.set("tools", Raw::array(&[self.tool.get()?.to_mcp()]));
        Some(list.into_raw())
    }
}

impl Connection {
    /// Speaks LiteMCP from now on.
    pub(crate) fn speak_lite(&self, way: Way) {
        let _ = self.lite.set(Lite { way, tool: OnceLock::new() });
    }

    /// Answers what the server has no word for; gives back the calls of its tool.
    pub(super) fn answer_for_lite(
        &self,
        lite: &Lite,
        call: Call,
        exchange: Exchange,
    ) -> Option<(Call, Exchange)> {
        match call.method {
            Method::ToolsCall => match lite.tool_call(&call) {
                Ok(_) => return Some((call, exchange)),
                Err(fault) => exchange.fail(fault),
            },
            Method::Ping | Method::SetLevel => exchange.finish(Ok(Raw::from_static("{}"))),
            other => exchange.fail(Fault::UnknownMethod(other.as_str().to_owned())),
        }
        None
    }

    /// Answers our own question for its tools once it has told of its tool: a busy server need not be asked again.
    pub(super) fn list_for_lite(&self, call: &Call) -> Option<Raw> {
        let lite = self.lite.get().filter(|_| call.method == Method::ToolsList)?;
        lite.list()
    }

    /// Writes a request: as a message, or into the hands of the poster.
    pub(super) fn write_lite<'l>(
        &self,
        lite: &'l Lite,
        id: u64,
        call: Call,
        pending: &mut Pending,
    ) -> Option<(&'l Arc<dyn Poster>, Post)> {
        let (word, data) = match call.method {
            Method::ToolsCall => (Word::Call, lite.tool_call(&call).unwrap_or_else(|_| Raw::null())),
            _ => (Word::Get, Raw::from_static("{}")),
        };
        match &lite.way {
            Way::Messages(numbers) => {
                self.outbox.push(Message::new(numbers.give(id), word, Some(data)).encode().bytes());
                None
            }
            Way::Posts(poster) => {
                let (leave, left) = oneshot::channel();
                pending.leave = Some(leave);
                let (method, body) = (call.method, data.bytes());
                Some((poster, Post { call: id, method, params: data, body: body.into(), left }))
            }
        }
    }

    /// Forgets a call that nobody waits for; the protocol has no word to tell the server by.
    pub(super) fn forget_lite(lite: &Lite, id: u64) {
        if let Way::Messages(numbers) = &lite.way {
            numbers.forget(id);
        }
    }

    /// Takes what a server wrote to a pipe.
    pub(crate) fn receive_frame(&self, frame: Frame) {
        match frame {
            Frame::Message(bytes) => self.receive_lite(bytes),
            Frame::Refused { id, why } => {
                self.complain(&format!("a message that cannot be taken: {why:?}"));
                let fault = match why {
                    FrameError::TooLong => self.too_large(),
                    _ => self.malformed("its message cannot be read"),
                };
                if let Some(call) = id.and_then(|id| self.numbered(&id)) {
                    self.fail(call, fault);
                }
            }
        }
    }

    /// Takes one message of a server. What cannot be read, or answers nothing, is counted and dropped (S4-10).
    pub(crate) fn receive_lite(&self, bytes: Bytes) {
        match Message::parse(bytes.clone()) {
            Ok(Message { id, word: Word::Info | Word::Result, data, .. }) => match self.numbered(&id) {
                Some(call) => self.answer_lite(call, data),
                None => self.complain("an answer that nobody waits for"),
            },
            Ok(message) => self.complain(&format!("a `{:?}`, which only clients send", message.word)),
            Err(why) => {
                if let MessageError::NotJson(_) = why {
                    self.logs.push_noise(&bytes);
                }
                self.complain(&format!("not a message ({why}): {}", quote(&bytes, 120)));
            }
        }
    }

    /// Takes the server's answer to a call: its tool, or what the call came to.
    pub(crate) fn answer_lite(&self, call: u64, data: Option<Raw>) {
        let Some(pending) = self.take(call) else {
            return self.complain("an answer that nobody waits for");
        };
        let data = data.unwrap_or_else(Raw::null);
        let reply: Reply = if pending.origin == Origin::Client {
            self.proven.store(true, Ordering::Relaxed);
            match CallResult::parse(&data) {
                Some(result) => Ok(result.to_mcp().into()),
                None => Err(self.malformed("its result is not one of LiteMCP 1").into()),
            }
        } else {
            self.learn_tool(&data).map(Into::into).map_err(Into::into)
        };
        pending.exchange.finish(reply);
    }

    /// Learns what the server's tool is. Returns it as a list.
    pub(crate) fn learn_tool(&self, data: &Raw) -> Result<Raw, Fault> {
        let listed = self.lite.get().and_then(|lite| {
            let _ = lite.tool.set(Tool::parse(&data.detached())?);
            lite.list()
        });
        listed.ok_or_else(|| self.malformed("it tells of no tool of LiteMCP 1"))
    }

    fn numbered(&self, id: &Id) -> Option<u64> {
        match &self.lite.get()?.way {
            Way::Messages(numbers) => numbers.take(id),
            Way::Posts(_) => None,
        }
    }

    fn too_large(&self) -> Fault {
        Fault::TooLarge { server: Some(self.id().to_owned()), limit_bytes: self.limit_bytes }
    }
}

#[cfg(test)]
mod tests;
