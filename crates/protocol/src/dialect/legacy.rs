//! The revisions with `initialize` and a session (2024-11-05 to 2025-11-25).

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::modern::SERVER_INFO;
use super::{ServerFacts, edit_meta};
use crate::envelope;
use crate::id::Id;
use crate::model::{Answer, Mark};
use crate::outgoing::Outgoing;
use crate::raw::{Cuts, Kind, Raw, RawObject};
use crate::scan::Cursor;
use crate::version::Revision;

/// The kinds of content that clients of these revisions know.
const CONTENTS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// What a server needs to answer `initialize`.
#[derive(Debug)]
pub struct InitializeReply<'a> {
    pub revision: Revision,
    pub name: &'a str,
    pub version: &'a str,
    pub instructions: Option<&'a str>,
    /// Client capabilities to echo, as one profile does (decision 26).
    pub echoed: &'a [&'a str],
}

impl InitializeReply<'_> {
    /// Writes the result. Every list may change, so every list says so.
    pub fn encode(&self) -> Raw {
        let mut capabilities = RawObject::default();
        capabilities.set("tools", Raw::from_static(r#"{"listChanged":true}"#));
        capabilities.set("resources", Raw::from_static(r#"{"subscribe":true,"listChanged":true}"#));
        capabilities.set("prompts", Raw::from_static(r#"{"listChanged":true}"#));
        capabilities.set("logging", Raw::from_static("{}"));
        // 2024-11-05 knows completion but no capability for it.
        if self.revision > Revision::V2024_11_05 {
            capabilities.set("completions", Raw::from_static("{}"));
        }
        for capability in self.echoed {
            capabilities.set(capability, Raw::from_static("{}"));
        }
        let mut info = RawObject::default();
        info.set("name", Raw::string(self.name));
        info.set("version", Raw::string(self.version));

        let mut result = RawObject::default();
        result.set("protocolVersion", Raw::string(self.revision.as_str()));
        result.set("capabilities", capabilities.into_raw());
        result.set("serverInfo", info.into_raw());
        if let Some(instructions) = self.instructions {
            result.set("instructions", Raw::string(instructions));
        }
        result.into_raw()
    }
}

/// Writes the parameters of our own `initialize` to a server.
pub fn initialize_params(revision: Revision, capabilities: &Raw, client_info: &Raw) -> Raw {
    let mut params = RawObject::default();
    params.set("protocolVersion", Raw::string(revision.as_str()));
    params.set("capabilities", capabilities.clone());
    params.set("clientInfo", client_info.clone());
    params.into_raw()
}

/// Reads a server's answer to `initialize`.
pub fn read_initialize_result(result: &Raw) -> Option<ServerFacts> {
    Some(ServerFacts {
        revision: result.get("protocolVersion")?.to_text()?.into_owned(),
        capabilities: result.get("capabilities").unwrap_or_else(|| Raw::from_static("{}")),
        instructions: result.get("instructions").and_then(|text| Some(text.to_lossy_text()?.into_owned())),
    })
}

/// Writes the message that answers a request.
pub fn answer(id: &Id, answer: &Answer) -> Outgoing {
    match answer {
        Answer::List(list) => envelope::list(id, list.kind.member(), &list.strict_items),
        Answer::Result { body, mark, loose } => match translated(body, *mark, *loose) {
            Translated::AsItIs => envelope::result(id, body),
            Translated::Cut(cuts) => envelope::result_cut(id, &cuts),
            Translated::Edited(object) => envelope::result_object(id, &object),
        },
    }
}

/// Writes an answer as clients of these revisions expect it; the result of a server of theirs keeps its bytes.
pub fn result(answer: &Answer) -> Raw {
    match answer {
        Answer::List(list) => list.plain(),
        Answer::Result { body, mark, loose } => match translated(body, *mark, *loose) {
            Translated::AsItIs => body.clone(),
            Translated::Cut(cuts) => cuts.into_raw(),
            Translated::Edited(object) => object.into_raw(),
        },
    }
}

/// A result in the words of these revisions.
enum Translated {
    AsItIs,
    Cut(Cuts),
    Edited(RawObject),
}

fn translated(body: &Raw, mark: Mark, loose: bool) -> Translated {
    if mark == Mark::None && !loose {
        return Translated::AsItIs;
    }
    if !loose && let Some(cuts) = without_marks(body) {
        return Translated::Cut(cuts);
    }
    edited(body, mark, loose).map_or(Translated::AsItIs, Translated::Edited)
}

/// Translates whatever there may be to translate.
fn edited(body: &Raw, mark: Mark, loose: bool) -> Option<RawObject> {
    let mut object = body.object()?;
    if mark != Mark::None {
        take_off_marks(&mut object);
        spell_out_contents(&mut object);
    }
    // What the schema was wrapped for is always wrapped; otherwise only what a client could not read.
    let wraps = |content: &Raw| loose || content.kind() != Kind::Object;
    if let Some(content) = object.get("structuredContent").filter(wraps) {
        object.set("structuredContent", wrapped(content));
    }
    Some(object)
}

/// Returns a marked result without its marks, in one walk, if that is all there is to do: as it nearly always is.
fn without_marks(body: &Raw) -> Option<Cuts> {
    if body.kind() != Kind::Object {
        return None;
    }
    let mut cuts = Cuts::of(body);
    let mut cursor = body.cursor();
    let mut first = true;
    cursor.enter().ok()?;
    while let Some(key) = cursor.next_key(first).ok()? {
        first = false;
        let start = cursor.at();
        let name = cursor.name(&key);
        match &*name {
            b"content" => pass_known_contents(&mut cursor)?,
            b"structuredContent" if cursor.peek() != Some(b'{') => return None,
            _ => cursor.value().ok()?,
        }
        let goes = match &*name {
            b"resultType" | b"ttlMs" | b"cacheScope" => true,
            b"_meta" => has_server_info_alone(cursor.slice(start..cursor.at()))?,
            _ => false,
        };
        if !goes {
            cuts.keep(&key.place, cursor.at());
        } else if !cuts.cut(&key.place, cursor.at()) {
            return None;
        }
    }
    Some(cuts)
}

/// Passes the contents of a result; `None` if one is of a kind that these revisions do not know, or may be.
fn pass_known_contents(cursor: &mut Cursor<'_>) -> Option<()> {
    if cursor.peek() != Some(b'[') {
        return cursor.value().ok();
    }
    let mut first = true;
    cursor.enter().ok()?;
    while cursor.next_element(first).ok()? {
        first = false;
        let start = cursor.at();
        cursor.value().ok()?;
        // As nearly all are written: their kind first.
        let kind = cursor.slice(start..cursor.at()).strip_prefix(br#"{"type":""#)?;
        let kind = kind.get(..memchr::memchr(b'"', kind)?)?;
        if !CONTENTS.iter().any(|known| known.as_bytes() == kind) {
            return None;
        }
    }
    Some(())
}

/// Returns whether a `_meta` holds nothing but a server's word of itself; `None` if that and something else.
fn has_server_info_alone(meta: &[u8]) -> Option<bool> {
    if memchr::memmem::find(meta, b"serverInfo").is_none() && !meta.contains(&b'\\') {
        return Some(false);
    }
    let mut cursor = Cursor::new(meta);
    if cursor.peek() != Some(b'{') {
        return Some(false);
    }
    cursor.enter().ok()?;
    let key = cursor.next_key(true).ok()??;
    let is_info = *cursor.name(&key) == *SERVER_INFO.as_bytes();
    cursor.value().ok()?;
    let alone = cursor.next_key(false).ok()?.is_none();
    (is_info && alone).then_some(true)
}

fn take_off_marks(object: &mut RawObject) {
    object.remove_all(&["resultType", "ttlMs", "cacheScope"]);
    let is_marked = object.get("_meta").is_some_and(|meta| meta.get(SERVER_INFO).is_some());
    if is_marked {
        edit_meta(object, |meta| meta.remove(SERVER_INFO));
    }
}

/// Makes content of a kind that these revisions do not know readable: a client would refuse the whole result for it.
fn spell_out_contents(object: &mut RawObject) {
    let Some(contents) = object.get("content").and_then(|content| content.elements()) else { return };
    let known = |content: &Raw| {
        // As nearly all are written.
        content.as_bytes().starts_with(br#"{"type":"text","#)
            || content.get("type").and_then(|kind| kind.to_text().map(|kind| CONTENTS.contains(&&*kind)))
                == Some(true)
    };
    if contents.iter().all(known) {
        return;
    }
    let spelled: Vec<Raw> = contents
        .into_iter()
        .map(|content| {
            if known(&content) {
                return content;
            }
            let mut text = RawObject::default();
            text.set("type", Raw::from_static(r#""text""#));
            text.set("text", Raw::string(content.as_str()));
            text.into_raw()
        })
        .collect();
    object.set("content", Raw::array(&spelled));
}

fn wrapped(content: Raw) -> Raw {
    let mut object = RawObject::default();
    object.set("result", content);
    object.into_raw()
}

/// Writes an error of a server's own: numbers that only the newest revision has are put as an internal error.
pub fn error(error: &Raw) -> Raw {
    match error.object() {
        Some(mut object) if super::modern::is_modern_error(error) => {
            object.set("code", Raw::from_static("-32603"));
            object.into_raw()
        }
        _ => error.clone(),
    }
}

/// Returns a tool as strict clients of these revisions can read it, if it differs: one whose output is no object hides
/// all the others from them.
pub fn tool(raw: &Raw) -> Option<Raw> {
    // Most have none, and searching is much quicker than reading.
    static WORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("outputSchema"));
    if WORD.find(raw.as_bytes()).is_none() && !raw.has_escapes() {
        return None;
    }
    let schema = raw.get("outputSchema").filter(is_loose)?;
    let mut object = raw.object()?;
    match wrapped_schema(&schema) {
        Some(schema) => object.set("outputSchema", schema),
        None => object.remove("outputSchema"),
    }
    Some(object.into_raw())
}

/// Returns whether a tool's structured content may be something else than an object.
pub fn is_loose_tool(tool: &RawObject) -> bool {
    tool.get("outputSchema").is_some_and(|schema| is_loose(&schema))
}

fn is_loose(schema: &Raw) -> bool {
    schema.get("type").as_ref().and_then(|kind| kind.to_text()).as_deref() != Some("object")
}

/// Wraps a schema as its content is wrapped; `None` where its references would then lead nowhere.
fn wrapped_schema(schema: &Raw) -> Option<Raw> {
    let mut inner = schema.object()?;
    let mut outer = RawObject::default();
    outer.set("type", Raw::from_static(r#""object""#));
    for shared in ["$schema", "$defs", "definitions"] {
        if let Some(value) = inner.get(shared) {
            outer.set(shared, value);
            inner.remove(shared);
        }
    }
    let inner = inner.into_raw();
    let lost = [r##""#""##, r##""#/properties"##, r##""#/items"##, r##""#/prefixItems"##, r##""#/anyOf"##];
    if lost.iter().any(|reference| inner.as_str().contains(reference)) {
        return None;
    }
    outer.set("properties", wrapped(inner));
    outer.set("required", Raw::from_static(r#"["result"]"#));
    Some(outer.into_raw())
}
