//! The revision without sessions (2026-07-28): every request says who asks, every result says what it is.

mod discover;
pub mod headers;
pub mod listen;
pub mod rounds;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::LazyLock;

use bytes::Bytes;
use memchr::memmem::Finder;

use super::edit_meta;
use crate::envelope;
use crate::extension::TASKS;
pub use crate::extension::declares_tasks;
use crate::fault::Fault;
use crate::id::Id;
use crate::method::Method;
use crate::model::{Answer, Caller, Freshness, List, Mark, Scope};
use crate::outgoing::Outgoing;
use crate::raw::{Kind, Raw, RawObject};
pub use discover::{DiscoverReply, read_discover_result};

pub const REVISION: &str = "2026-07-28";

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Returns the revision that a request says it is of; one that says so is a modern one, whatever it says.
pub fn version_of(params: Option<&Raw>) -> Option<Raw> {
    // Requests of sessions are many, and most of their parameters need not be read here.
    static MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("modelcontextprotocol"));
    MARK.find(params?.as_bytes())?;
    params?.get("_meta")?.get(VERSION)
}

/// Returns what a request says of the client that makes it.
pub fn client_info_of(params: Option<&Raw>) -> Option<Raw> {
    params?.get("_meta")?.get(CLIENT_INFO)
}

/// Reads who asks and takes those marks off the parameters.
pub fn open(params: Option<Raw>) -> Result<(Option<Raw>, Caller), Fault> {
    let missing = |key: &str| Fault::InvalidParams(format!("`_meta` must have `{key}`"));
    let mut object = params.and_then(|params| params.object()).unwrap_or_default();
    let meta = object.get("_meta").and_then(|meta| meta.object()).ok_or_else(|| missing(VERSION))?;
    let version = meta.get(VERSION).ok_or_else(|| missing(VERSION))?;
    let Some(version) = version.to_text() else {
        return Err(Fault::InvalidParams(format!("`{VERSION}` must be a string")));
    };
    if version != REVISION {
        return Err(Fault::UnsupportedVersion { requested: version.into_owned() });
    }
    let capabilities = meta.get(CAPABILITIES).ok_or_else(|| missing(CAPABILITIES))?;
    if capabilities.kind() != Kind::Object {
        return Err(Fault::InvalidParams(format!("`{CAPABILITIES}` must be an object")));
    }
    let caller = Caller {
        capabilities: capabilities.detached(),
        info: meta.get(CLIENT_INFO).filter(|info| info.kind() == Kind::Object).map(|info| info.detached()),
        log_level: meta.get(LOG_LEVEL).filter(|level| level.kind() == Kind::String).map(|one| one.detached()),
        retries: true,
        is_retry: object.contains("requestState") || object.contains("inputResponses"),
        words: Default::default(),
    };
    edit_meta(&mut object, |meta| {
        [VERSION, CAPABILITIES, CLIENT_INFO, LOG_LEVEL].into_iter().for_each(|key| meta.remove(key));
    });
    Ok((Some(object.into_raw()), caller))
}

/// Puts the marks on the parameters of a request to a server.
pub fn seal(params: Option<Raw>, caller: &Caller) -> Raw {
    seal_numbered(params, caller, None).0
}

/// Puts the marks on likewise, and a number of ours in the place of the caller's progress token, which is returned.
pub fn seal_numbered(params: Option<Raw>, caller: &Caller, number: Option<u64>) -> (Raw, Option<Raw>) {
    let marks = caller.words.get_or_write(|| marks_of(caller));
    match params {
        Some(params) if may_have_meta(&params) => seal_over(params, caller, number),
        Some(params) => (params.appended(&[b"\"_meta\":{", marks, b"}"]), None),
        None => (Raw::from_static("{}").appended(&[b"\"_meta\":{", marks, b"}"]), None),
    }
}

/// Writes a request with the marks, and `id` in the place of the caller's progress token, which is returned.
pub fn request(id: u64, method: &Method, params: Option<Raw>, caller: &Caller) -> (Outgoing, Option<Raw>) {
    let (number, method) = (Id::number(id), method.as_str());
    match params {
        Some(params) if params.kind() == Kind::Object && !may_have_meta(&params) => {
            let marks = caller.words.get_or_write(|| marks_of(caller));
            (envelope::request_with(&number, method, &params, &[b"\"_meta\":{", marks, b"}"]), None)
        }
        params => {
            let (params, token) = seal_numbered(params, caller, Some(id));
            (envelope::request(&number, method, Some(&params)), token)
        }
    }
}

/// Returns whether there may be a `_meta` to put marks in. A key can be spelled with escapes.
fn may_have_meta(params: &Raw) -> bool {
    static META: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("_meta\""));
    static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u"));
    META.find(params.as_bytes()).is_some() || ESCAPE.find(params.as_bytes()).is_some()
}

/// Writes the members that say who asks.
fn marks_of(caller: &Caller) -> Bytes {
    let mut marks = RawObject::default();
    put_marks(&mut marks, caller);
    let marks = marks.into_raw().bytes();
    marks.slice(1..marks.len() - 1)
}

fn put_marks(meta: &mut RawObject, caller: &Caller) {
    meta.set(VERSION, Raw::from_static(concat!("\"", "2026-07-28", "\"")));
    meta.set(CAPABILITIES, caller.capabilities.clone());
    if let Some(info) = &caller.info {
        meta.set(CLIENT_INFO, info.clone());
    }
    if let Some(level) = &caller.log_level {
        meta.set(LOG_LEVEL, level.clone());
    }
}

/// Puts the marks where the parameters may have some already.
fn seal_over(params: Raw, caller: &Caller, number: Option<u64>) -> (Raw, Option<Raw>) {
    let mut object = params.object().unwrap_or_default();
    let mut meta = object.get("_meta").and_then(|meta| meta.object()).unwrap_or_default();
    let token = number.and_then(|number| {
        let token = meta.get("progressToken")?;
        meta.set("progressToken", Raw::number(number));
        Some(token)
    });
    put_marks(&mut meta, caller);
    object.set("_meta", meta.into_raw());
    (object.into_raw(), token)
}

/// Returns the capabilities with the extension for tasks declared.
pub fn with_tasks(capabilities: &Raw) -> Raw {
    let mut object = capabilities.object().unwrap_or_default();
    let mut extensions = object.get("extensions").and_then(|one| one.object()).unwrap_or_default();
    extensions.set(TASKS, Raw::from_static("{}"));
    object.set("extensions", extensions.into_raw());
    object.into_raw()
}

/// Returns whether an error says that only the extension for tasks was not declared.
pub fn wants_only_tasks(error: &Raw) -> bool {
    let only = |object: &Raw, key: &str| {
        object.object().is_some_and(|object| object.len() == 1 && object.contains(key))
    };
    let required = error.path(&["data", "requiredCapabilities"]);
    error.get("code").is_some_and(|code| code.as_str() == "-32021")
        && required.is_some_and(|required| {
            only(&required, "extensions")
                && required.get("extensions").is_some_and(|extensions| only(&extensions, TASKS))
        })
}

/// Returns whether a method exists in this revision; the others are removed or were never there.
pub fn knows(method: &Method) -> bool {
    match method {
        Method::Discover
        | Method::Listen
        | Method::ToolsList
        | Method::ToolsCall
        | Method::ResourcesList
        | Method::TemplatesList
        | Method::ResourcesRead
        | Method::PromptsList
        | Method::PromptsGet
        | Method::Complete
        | Method::TasksGet
        | Method::TasksUpdate
        | Method::TasksCancel
        | Method::SkillsList
        | Method::SkillsGet
        | Method::DirectoryRead => true,
        // Perhaps an extension's: whoever declares it knows.
        Method::Other(name) => name.as_str() != "tasks/list",
        Method::Initialize
        | Method::Ping
        | Method::Shutdown
        | Method::ResourcesSubscribe
        | Method::ResourcesUnsubscribe
        | Method::SetLevel
        | Method::TasksResult
        | Method::CreateMessage
        | Method::Elicit
        | Method::ListRoots => false,
    }
}

/// Returns whether results of a method say for how long they hold.
fn is_cacheable(method: &Method) -> bool {
    matches!(
        method,
        Method::Discover
            | Method::ToolsList
            | Method::ResourcesList
            | Method::TemplatesList
            | Method::PromptsList
            | Method::ResourcesRead
            | Method::SkillsList
    )
}

/// Writes an answer as a client of this revision expects it; what is marked already keeps its bytes.
pub fn result(answer: &Answer, method: &Method, server_info: &Raw) -> Raw {
    let (mut object, freshness) = match answer {
        Answer::Result { body, mark: Mark::Complete | Mark::InputRequired | Mark::Extension, .. } => {
            return body.clone();
        }
        Answer::Result { body, .. } => {
            let freshness = is_cacheable(method).then(Freshness::default);
            (body.object().unwrap_or_default(), freshness)
        }
        Answer::List(list) => {
            let mut object = RawObject::default();
            object.set(list.kind.member(), list.items.clone());
            (object, Some(list.freshness))
        }
    };
    object.set("resultType", Raw::from_static(r#""complete""#));
    if let Some(freshness) = freshness {
        set_freshness(&mut object, freshness);
    }
    edit_meta(&mut object, |meta| meta.set(SERVER_INFO, server_info.clone()));
    object.into_raw()
}

fn set_freshness(object: &mut RawObject, freshness: Freshness) {
    object.set("ttlMs", Raw::number(freshness.ttl_ms));
    object.set(
        "cacheScope",
        match freshness.scope {
            Scope::Private => Raw::from_static(r#""private""#),
            Scope::Public => Raw::from_static(r#""public""#),
        },
    );
}

/// Reads how long a result says it holds.
pub fn freshness_of(result: &RawObject) -> Freshness {
    let scope = match result.get("cacheScope").as_ref().and_then(|scope| scope.to_text()) {
        Some(Cow::Borrowed("public")) => Scope::Public,
        _ => Scope::Private,
    };
    Freshness { ttl_ms: result.get("ttlMs").and_then(|ttl| ttl.u64()).unwrap_or(0), scope }
}

/// Reads what a server's result says of itself; an unknown word makes it invalid.
pub fn mark_of(result: &Raw) -> Option<Mark> {
    let Some(kind) = result.get("resultType") else { return Some(Mark::None) };
    match kind.to_text().as_deref() {
        Some("complete") => Some(Mark::Complete),
        Some("input_required") => Some(Mark::InputRequired),
        Some("task") => Some(Mark::Extension),
        _ => None,
    }
}

/// Writes an error of a server's own as a client of this revision expects it: codes that were retired are replaced,
/// and so are those that speak of our request to the server, not of the client's to us.
pub fn error(error: &Raw) -> Raw {
    let code = error.get("code");
    let replaced = match code.as_ref().map_or("", |code| code.as_str()) {
        "-32002" => "-32602",
        "-32042" | "-32020" | "-32022" => "-32603",
        _ => return error.clone(),
    };
    let Some(mut object) = error.object() else { return error.clone() };
    object.set("code", Raw::from_static(replaced));
    object.into_raw()
}

/// Returns a tool as this revision has it.
pub fn tool(raw: &Raw) -> Option<Raw> {
    // Hardly any has it, and searching is much quicker than reading.
    static WORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("execution"));
    if WORD.find(raw.as_bytes()).is_none() && !raw.has_escapes() {
        return None;
    }
    let mut object = raw.object().filter(|object| object.contains("execution"))?;
    object.remove("execution");
    Some(object.into_raw())
}

/// Returns whether an error shows that its sender speaks this revision.
pub fn is_modern_error(error: &Raw) -> bool {
    error.get("code").is_some_and(|code| matches!(code.as_str(), "-32020" | "-32021" | "-32022"))
}

impl List {
    /// Returns the whole result in the words of the revisions with sessions.
    pub(super) fn plain(&self) -> Raw {
        let mut object = RawObject::default();
        object.set(self.kind.member(), self.strict_items.clone());
        object.into_raw()
    }
}
