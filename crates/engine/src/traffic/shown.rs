//! A message as those who watch are shown it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use manifold_admin::{Frame, FrameClient};
use serde_json::value::RawValue;

use super::captured::Captured;
use super::redaction::{self, Hidden};

/// Makes the frame of a message, its secrets taken out; with as much of the message as is wanted.
pub(super) fn frame(captured: &Captured, number: u64, body_bytes: Option<usize>) -> Frame {
    let party = &captured.party;
    let mut hidden = Hidden::new();
    let mut text = |text: &Option<Box<str>>| text.as_deref().map(|text| hidden.word(text));
    let (method, tool) = (text(&captured.method), text(&captured.tool));
    let id = text(&captured.id).and_then(|id| RawValue::from_string(id).ok());
    let client = match (&party.client, captured.client) {
        (Some(client), _) => Some(FrameClient {
            name: client.name.as_deref().map(|name| hidden.word(name)),
            version: client.version.as_deref().map(|version| hidden.word(version)),
            ..client.clone()
        }),
        (None, Some(id)) => Some(FrameClient { id: Some(id), ..FrameClient::default() }),
        (None, None) => None,
    };
    let mut frame = Frame {
        n: number,
        t: captured.at,
        hop: party.hop,
        dir: captured.dir,
        kind: captured.kind,
        client,
        namespace: party.namespace.clone(),
        server: party.server.clone(),
        instance: party.instance.clone(),
        generation: party.generation,
        method,
        tool,
        id,
        call: captured.call,
        parent: captured.parent,
        status: captured.status,
        code: captured.code,
        bytes: captured.bytes,
        took: captured.took,
        ..Frame::default()
    };
    // A line has nothing but its text.
    let body_bytes = if captured.is_message() { body_bytes } else { Some(usize::MAX) };
    if let (Some(most), Some(body)) = (body_bytes, &captured.body) {
        put_body(&mut frame, &mut hidden, captured, &body[..body.len().min(most)]);
    }
    frame.redacted = hidden.any;
    frame
}

fn put_body(frame: &mut Frame, hidden: &mut Hidden, captured: &Captured, body: &[u8]) {
    let cut = captured.bytes - body.len() as u64;
    frame.cut = (cut > 0).then_some(cut);
    let Some(text) = as_text(body, cut > 0) else {
        frame.base64 = Some(STANDARD.encode(body));
        return;
    };
    let shown = match (captured.is_json, cut) {
        (true, 0) => hidden.json(text),
        (true, _) => hidden.json_cut(text),
        (false, _) => hidden.text(text, cut > 0),
    };
    if captured.is_json && cut == 0 {
        // A line end is only white space in JSON: without it a frame stands on one line.
        let on_one_line = if memchr::memchr2(b'\n', b'\r', shown.as_bytes()).is_some() {
            shown.replace(['\n', '\r'], " ")
        } else {
            shown
        };
        match RawValue::from_string(on_one_line) {
            Ok(value) => frame.body = Some(value),
            Err(_) => frame.text = Some(redaction::UNREADABLE.to_owned()),
        }
        return;
    }
    frame.text = Some(shown);
}

/// Returns what is text of it: all, but for a character that was cut off.
fn as_text(body: &[u8], is_cut: bool) -> Option<&str> {
    match std::str::from_utf8(body) {
        Ok(text) => Some(text),
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(&body[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}
