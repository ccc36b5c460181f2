//! Recordings for tests, made from a few words.

use manifold_admin::{Direction, Frame, FrameClient, FrameKind, Hop, TrafficItem};
use serde_json::value::RawValue;

use crate::format::{Footer, FooterLine, Header};
use crate::reader::Recorded;

/// What was said on the client's hop, in its order.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) frames: Vec<Frame>,
    ids: u64,
}

impl Script {
    /// A request that is answered at once.
    pub(crate) fn exchange(self, method: &str, params: &str, result: &str) -> Self {
        self.ask(method, params).answer(result)
    }

    pub(crate) fn call(self, tool: &str, arguments: &str, result: &str) -> Self {
        self.exchange("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#), result)
    }

    pub(crate) fn ask(mut self, method: &str, params: &str) -> Self {
        self.ids += 1;
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.ids);
        self.push(Direction::In, FrameKind::Request, &body)
    }

    pub(crate) fn answer(self, result: &str) -> Self {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.ids);
        self.push(Direction::Out, FrameKind::Response, &body)
    }

    pub(crate) fn say(self, kind: FrameKind, body: &str) -> Self {
        self.push(Direction::Out, kind, body)
    }

    fn push(mut self, dir: Direction, kind: FrameKind, body: &str) -> Self {
        let n = self.frames.len() as u64 + 1;
        self.frames.push(Frame {
            n,
            t: n * 1_000_000,
            hop: Hop::Client,
            dir,
            kind,
            client: Some(FrameClient { id: Some(1), ..FrameClient::default() }),
            id: Some(RawValue::from_string(self.ids.to_string()).unwrap()),
            call: Some(self.ids),
            bytes: body.len() as u64,
            body: Some(RawValue::from_string(body.to_owned()).unwrap()),
            ..Frame::default()
        });
        self
    }
}

pub(crate) fn recorded(script: Script) -> Recorded {
    Recorded {
        header: Header::new("test", "0", "2026-11-18T00:00:00Z"),
        items: script.frames.into_iter().map(|frame| TrafficItem::Frame(Box::new(frame))).collect(),
        footer: Some(Footer::default()),
        unreadable: 0,
    }
}

/// A conversation with a bit of everything.
pub(crate) fn conversation() -> Recorded {
    recorded(
        Script::default()
            .exchange(
                "initialize",
                r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#,
                r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"m","version":"1"}}"#,
            )
            .exchange("tools/list", "{}", r#"{"tools":[{"name":"fx__echo","inputSchema":{"type":"object"}}]}"#)
            .call("fx__echo", r#"{"text":"a"}"#, r#"{"content":[{"type":"text","text":"first"}]}"#)
            .call("fx__echo", r#"{"text":"a"}"#, r#"{"content":[{"type":"text","text":"second"}]}"#)
            .ask("tools/call", r#"{"name":"fx__ask","arguments":{},"_meta":{"progressToken":"old"}}"#)
            .say(
                FrameKind::Notification,
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"old","progress":1}}"#,
            )
            .say(FrameKind::Request, r#"{"jsonrpc":"2.0","id":77,"method":"roots/list"}"#)
            .answer(r#"{"content":[{"type":"text","text":"asked"}]}"#),
    )
}

pub(crate) fn text_of(recorded: &Recorded) -> String {
    let mut text = serde_json::to_string(&recorded.header).unwrap() + "\n";
    for item in &recorded.items {
        text += &(serde_json::to_string(item).unwrap() + "\n");
    }
    if let Some(footer) = recorded.footer.clone() {
        text += &(serde_json::to_string(&FooterLine { footer }).unwrap() + "\n");
    }
    text
}
