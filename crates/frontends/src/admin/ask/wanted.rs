//! What is asked for, as a call.

use std::collections::BTreeMap;

use manifold_admin::{AskOptions, CallRequest, CommandError, CompleteRequest, PromptRequest, ReadRequest};
use manifold_protocol::raw::Kind as Json;
use manifold_protocol::{Call, Kind, Method, Raw, RawObject};

use crate::admin::request::{Asked, bad};

pub(in crate::admin) struct Wanted {
    pub(super) call: Call,
    pub(super) how: AskOptions,
    /// What is called, where an operator may name it in several ways.
    pub(super) name: Option<(Kind, String)>,
    /// Whose it is, where that is known.
    pub(super) owner: Option<String>,
    /// The resource that is to be read.
    pub(super) uri: Option<String>,
}

impl Wanted {
    pub(super) fn read(asked: &Asked, path: &str) -> Result<Self, CommandError> {
        match path {
            "/v1/call" => call(asked.json()?),
            "/v1/prompt" => Ok(prompt(asked.json()?)),
            "/v1/complete" => complete(asked.json()?),
            _ => Ok(read(asked.json()?)),
        }
    }

    /// Names what is called as clients see it.
    pub(super) fn set_name(&mut self, name: &str) {
        match self.call.method {
            Method::Complete => self.call.set_param("ref", prompt_reference(name)),
            _ => self.call.set_param("name", Raw::string(name)),
        }
    }

    fn new(method: Method, params: RawObject, how: AskOptions, name: Option<(Kind, String)>) -> Self {
        Self { call: Call::new(method, Some(params.into_raw())), how, name, owner: None, uri: None }
    }
}

fn call(request: CallRequest) -> Result<Wanted, CommandError> {
    let CallRequest { name, arguments, how } = request;
    let mut params = RawObject::default();
    params.set("name", Raw::string(&name));
    if let Some(arguments) = arguments {
        let arguments = Raw::parse(String::from(Box::<str>::from(arguments)));
        let arguments = arguments.ok().filter(|raw| raw.kind() == Json::Object);
        params.set("arguments", arguments.ok_or_else(|| bad("`arguments` must be an object"))?);
    }
    Ok(Wanted::new(Method::ToolsCall, params, how, Some((Kind::Tools, name))))
}

fn prompt(request: PromptRequest) -> Wanted {
    let PromptRequest { name, arguments, how } = request;
    let mut params = RawObject::default();
    params.set("name", Raw::string(&name));
    params.set("arguments", texts(&arguments));
    Wanted::new(Method::PromptsGet, params, how, Some((Kind::Prompts, name)))
}

fn read(request: ReadRequest) -> Wanted {
    let mut params = RawObject::default();
    params.set("uri", Raw::string(&request.uri));
    let wanted = Wanted::new(Method::ResourcesRead, params, request.how, None);
    Wanted { uri: Some(request.uri), ..wanted }
}

fn complete(request: CompleteRequest) -> Result<Wanted, CommandError> {
    let CompleteRequest { prompt, uri, argument, value, given, how } = request;
    let reference = match (&prompt, uri) {
        (Some(prompt), None) => prompt_reference(prompt),
        (None, Some(uri)) => {
            let mut reference = RawObject::default();
            reference.set("type", Raw::from_static(r#""ref/resource""#));
            reference.set("uri", Raw::string(&uri));
            reference.into_raw()
        }
        _ => return Err(bad("either `prompt` or `uri` says what is to be completed")),
    };
    let mut completed = RawObject::default();
    completed.set("name", Raw::string(&argument));
    completed.set("value", Raw::string(&value));
    let mut params = RawObject::default();
    params.set("ref", reference);
    params.set("argument", completed.into_raw());
    if !given.is_empty() {
        let mut context = RawObject::default();
        context.set("arguments", texts(&given));
        params.set("context", context.into_raw());
    }
    Ok(Wanted::new(Method::Complete, params, how, prompt.map(|prompt| (Kind::Prompts, prompt))))
}

fn prompt_reference(name: &str) -> Raw {
    let mut reference = RawObject::default();
    reference.set("type", Raw::from_static(r#""ref/prompt""#));
    reference.set("name", Raw::string(name));
    reference.into_raw()
}

fn texts(texts: &BTreeMap<String, String>) -> Raw {
    let mut object = RawObject::default();
    for (name, text) in texts {
        object.set(name, Raw::string(text));
    }
    object.into_raw()
}
