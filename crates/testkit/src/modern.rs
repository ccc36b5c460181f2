//! The words of 2026-07-28 as the fakes and the scripted clients need them. They share no code with the gateway, so that
//! one mistake cannot hide another.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

pub const REVISION: &str = "2026-07-28";

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// What a fake server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Era {
    /// The revisions with `initialize`; `server/discover` is unknown to it.
    #[default]
    Legacy,
    /// 2026-07-28 alone; `initialize` is refused.
    Modern,
    /// Both, as each request asks, and says so.
    Dual,
    /// Legacy, and exits when it reads `server/discover`.
    DiesOnDiscover,
    /// Legacy, and never answers `server/discover`.
    SilentOnDiscover,
}

/// How one request is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    Legacy,
    Modern,
}

impl Era {
    /// Decides how a request is served, or which error object refuses it.
    pub fn speech(self, method: &str, params: &Value) -> Result<Speech, Value> {
        let marked = !params["_meta"][VERSION].is_null();
        match self {
            Self::Modern if !marked && method == "initialize" => {
                Err(unsupported(params["protocolVersion"].as_str().unwrap_or_default()))
            }
            Self::Modern | Self::Dual if marked => check_marks(params).map(|()| Speech::Modern),
            Self::Modern => Err(error(-32602, &format!("_meta must have {VERSION}"))),
            _ => Ok(Speech::Legacy),
        }
    }

    /// Tells whether it may send what nobody asked for: only clients with a session are told so.
    pub fn tells_unasked(self, initialized: bool) -> bool {
        match self {
            Self::Modern => false,
            Self::Dual => initialized,
            Self::Legacy | Self::DiesOnDiscover | Self::SilentOnDiscover => true,
        }
    }
}

fn check_marks(params: &Value) -> Result<(), Value> {
    let meta = &params["_meta"];
    match meta[VERSION].as_str() {
        Some(REVISION) => {}
        Some(other) => return Err(unsupported(other)),
        None => return Err(error(-32602, &format!("{VERSION} must be a string"))),
    }
    if !meta[CAPABILITIES].is_object() {
        return Err(error(-32602, &format!("_meta must have {CAPABILITIES}")));
    }
    Ok(())
}

fn unsupported(requested: &str) -> Value {
    let mut error = error(-32022, "Unsupported protocol version");
    error["data"] = json!({"supported": [REVISION], "requested": requested});
    error
}

pub(crate) fn error(code: i64, message: &str) -> Value {
    json!({"code": code, "message": message})
}

/// Tells whether a method exists in this revision.
pub(crate) fn knows(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "tools/call"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "prompts/list"
            | "prompts/get"
            | "completion/complete"
            | "subscriptions/listen"
    )
}

/// Returns the result of `server/discover`, without its marks.
pub(crate) fn discovered(era: Era, capabilities: Value, instructions: Option<&str>) -> Value {
    let versions: &[&str] = match era {
        Era::Dual => &["2025-06-18", "2025-11-25", REVISION],
        _ => &[REVISION],
    };
    let mut result = json!({"supportedVersions": versions, "capabilities": capabilities});
    if let Some(instructions) = instructions {
        result["instructions"] = json!(instructions);
    }
    result
}

/// Puts the marks of a finished call on the text of a result, whose own bytes stay.
pub(crate) fn complete(method: &str, result: &str, server: &str) -> String {
    let Some(open) = result.trim_end().strip_suffix('}') else { return result.to_owned() };
    let own: Map<String, Value> = serde_json::from_str(result).unwrap_or_default();
    let mut marks = json!({"resultType": "complete"});
    if matches!(method, "server/discover" | "resources/read") || method.ends_with("/list") {
        marks["ttlMs"] = json!(0);
        marks["cacheScope"] = json!("private");
    }
    // A result with a `_meta` of its own keeps it: the server's name is only a courtesy.
    if !own.contains_key("_meta") {
        marks["_meta"] = json!({SERVER_INFO: {"name": server, "version": "1.0.0"}});
    }
    let marks = marks.to_string();
    let comma = if own.is_empty() { "" } else { "," };
    format!("{open}{comma}{}", &marks[1..])
}

/// Tells whether a request wants to hear a log message of this level.
pub(crate) fn wants_log(params: &Value, level: &str) -> bool {
    let place = |level: &str| LEVELS.iter().position(|known| *known == level);
    let least = params["_meta"][LOG_LEVEL].as_str().and_then(place);
    least.is_some_and(|least| place(level).unwrap_or(0) >= least)
}

/// Where a tool that asks stands.
pub(crate) enum Round {
    /// Its result is this: a round of questions, with all its marks.
    Asks(Value),
    /// All is answered; the answers to the first question of each round, as text.
    Answered(String),
    /// It cannot ask, or the retry does not fit; an error object.
    Refused(Value),
}

/// Takes a call of `ask` one round further. Its arguments say what to ask: `method` and `params`, `also` for more
/// questions in the same round, `rounds` for how often.
pub(crate) fn ask(params: &RawValue) -> Round {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Retry {
        request_state: Option<String>,
        input_responses: Option<std::collections::HashMap<String, Box<RawValue>>>,
    }
    let whole: Value = serde_json::from_str(params.get()).unwrap_or_default();
    let Ok(retry) = serde_json::from_str::<Retry>(params.get()) else {
        return Round::Refused(error(-32602, "requestState or inputResponses cannot be read"));
    };
    let arguments = &whole["arguments"];
    let questions = questions(arguments);
    if let Some(lacking) = lacking(&questions, &whole["_meta"][CAPABILITIES]) {
        return Round::Refused(lacking);
    }
    let mut round = 0;
    if let Some(state) = retry.request_state {
        let state: Value = serde_json::from_str(&state).unwrap_or_default();
        if state["arguments"] != *arguments {
            return Round::Refused(error(-32602, "the state is of another call"));
        }
        round = state["round"].as_u64().unwrap_or(0);
        let answers = retry.input_responses.unwrap_or_default();
        // What is not answered is asked again.
        if questions.keys().all(|key| answers.contains_key(key)) {
            round += 1;
        }
        if round >= arguments["rounds"].as_u64().unwrap_or(1)
            && let Some(answer) = answers.get("question")
        {
            return Round::Answered(answer.get().to_owned());
        }
    } else if retry.input_responses.is_some() {
        return Round::Refused(error(-32602, "answers without the state"));
    }
    let state = json!({"round": round, "arguments": arguments}).to_string();
    Round::Asks(json!({"resultType": "input_required", "inputRequests": questions, "requestState": state}))
}

fn questions(arguments: &Value) -> Map<String, Value> {
    let question = |asked: &Value| {
        let mut question = json!({"method": asked["method"].as_str().unwrap_or("roots/list")});
        if !asked["params"].is_null() {
            question["params"] = asked["params"].clone();
        }
        question
    };
    let mut questions = Map::new();
    questions.insert("question".to_owned(), question(arguments));
    for (n, asked) in arguments["also"].as_array().into_iter().flatten().enumerate() {
        questions.insert(format!("also-{n}"), question(asked));
    }
    questions
}

fn lacking(questions: &Map<String, Value>, capabilities: &Value) -> Option<Value> {
    let needed = questions.values().filter_map(|question| question["method"].as_str()?.split('/').next());
    let lacking = needed.into_iter().find(|needed| capabilities[*needed].is_null())?;
    let mut error = error(-32021, &format!("the client cannot be asked for {lacking}"));
    error["data"] = json!({"requiredCapabilities": {lacking: {}}});
    Some(error)
}

/// Someone who wants to hear of changes.
pub(crate) struct Listener {
    pub(crate) id: Value,
    filter: Value,
}

impl Listener {
    pub(crate) fn new(id: Value, params: &Value) -> Self {
        Self { id, filter: params["notifications"].clone() }
    }

    /// Returns the message that must come first.
    pub(crate) fn acknowledgement(&self) -> Value {
        self.message("notifications/subscriptions/acknowledged", &json!({"notifications": self.filter}))
    }

    /// Returns a notification as this listener shall have it, if it wants it.
    pub(crate) fn notification(&self, method: &str, params: &Value) -> Option<Value> {
        let wanted = match method {
            "notifications/tools/list_changed" => self.filter["toolsListChanged"] == true,
            "notifications/prompts/list_changed" => self.filter["promptsListChanged"] == true,
            "notifications/resources/list_changed" => self.filter["resourcesListChanged"] == true,
            "notifications/resources/updated" => {
                let uris = self.filter["resourceSubscriptions"].as_array();
                uris.is_some_and(|uris| uris.contains(&params["uri"]))
            }
            _ => false,
        };
        wanted.then(|| self.message(method, params))
    }

    /// Returns the response that ends it.
    pub(crate) fn end(&self) -> Value {
        let result = json!({"resultType": "complete", "_meta": {SUBSCRIPTION: self.id}});
        json!({"jsonrpc": "2.0", "id": self.id, "result": result})
    }

    fn message(&self, method: &str, params: &Value) -> Value {
        let mut params = if params.is_object() { params.clone() } else { json!({}) };
        params["_meta"][SUBSCRIPTION] = self.id.clone();
        json!({"jsonrpc": "2.0", "method": method, "params": params})
    }
}

/// What a client says of itself in every request.
#[derive(Clone, Debug)]
pub struct Marks {
    pub capabilities: Value,
    pub log_level: Option<String>,
}

impl Marks {
    /// Puts them on the params of a request; what stands in `_meta` already stays.
    pub fn put_on(&self, params: &Value) -> Value {
        let mut params = if params.is_null() { json!({}) } else { params.clone() };
        let mut marks = json!({
            VERSION: REVISION,
            CAPABILITIES: self.capabilities,
            CLIENT_INFO: {"name": "testkit", "version": "1.0.0"},
        });
        if let Some(level) = &self.log_level {
            marks[LOG_LEVEL] = json!(level);
        }
        for (key, mark) in marks.as_object().into_iter().flatten() {
            if params["_meta"][key].is_null() {
                params["_meta"][key] = mark.clone();
            }
        }
        params
    }
}

/// Returns the tag of a notification on a listen stream: the id of its request.
pub fn tag_of(notification: &Value) -> &Value {
    &notification["params"]["_meta"][SUBSCRIPTION]
}

/// Checks what every result must say of itself and returns it.
pub fn check_result<'r>(method: &str, response: &'r Value) -> &'r Value {
    let result = &response["result"];
    if result.is_null() {
        return result;
    }
    let kind = result["resultType"].as_str().unwrap_or_default();
    assert!(matches!(kind, "complete" | "input_required" | "task"), "{method}: resultType of {response}");
    let is_cacheable = matches!(method, "server/discover" | "resources/read") || method.ends_with("/list");
    if is_cacheable && kind == "complete" {
        assert!(result["ttlMs"].is_u64(), "{method}: ttlMs of {response}");
        let scope = result["cacheScope"].as_str().unwrap_or_default();
        assert!(matches!(scope, "public" | "private"), "{method}: cacheScope of {response}");
    }
    result
}

/// Answers a round of questions and returns the params of the retry; `None` if the result is no round.
pub fn retry(
    params: &Value,
    result: &Value,
    answer: &mut dyn FnMut(&str, &Value) -> Result<Value, Value>,
) -> Option<Value> {
    if result["resultType"] != "input_required" {
        return None;
    }
    let mut params = params.clone();
    let mut answers = Map::new();
    for (key, question) in result["inputRequests"].as_object().into_iter().flatten() {
        let method = question["method"].as_str().unwrap_or_default();
        // There is no word for a refusal but not to answer.
        if let Ok(said) = answer(method, &question["params"]) {
            answers.insert(key.clone(), said);
        }
    }
    let params_object = params.as_object_mut()?;
    params_object.remove("requestState");
    params_object.insert("inputResponses".to_owned(), Value::Object(answers));
    if !result["requestState"].is_null() {
        params_object.insert("requestState".to_owned(), result["requestState"].clone());
    }
    Some(params)
}
