//! What is ordered of the gateway and asked of servers.

use manifold_admin::{
    AskOptions, CallRequest, Method, PromptRequest, ReadRequest, RecordingStart, State as ServerState,
};
use manifold_admin_client::segment;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::effect::{ConfigDraft, Effect, Fetch};
use crate::form::{Form, json};
use crate::input::Action;
use crate::state::palette::Act;
use crate::state::{Confirm, FormModal, Modal, Purpose, Screen, State, Waiting};

/// What is said where nothing may be changed.
pub(super) const READ_ONLY: &str = "this is read-only: nothing is changed and no server is asked";

impl State {
    /// Orders something of the server that is selected.
    pub(super) fn order_selected(&mut self, verb: &'static str) -> Vec<Effect> {
        let Some(server) = self.selected_server() else {
            self.complain("no server is selected");
            return Vec::new();
        };
        let is_disabled = server.it.state == ServerState::Disabled;
        let verb = if verb == "enable" && !is_disabled { "disable" } else { verb };
        let name = server.it.key.to_string();
        self.order(verb, &name)
    }

    /// Orders something of a server. Who would miss it is named first.
    pub(super) fn order(&mut self, verb: &'static str, name: &str) -> Vec<Effect> {
        let Some(server) = self.model.server(name) else { return Vec::new() };
        let said = match verb {
            "start" => "started",
            "stop" => "stopped",
            "restart" => "started anew",
            "refresh" => "read anew",
            "login" => "sign in",
            "logout" => "logged out",
            "enable" => "enabled",
            _ => "disabled",
        };
        let path = format!("/v1/servers/{}/{verb}", segment(&server.it.key.to_string()));
        let effect =
            Effect::Order { method: Method::Post, path, body: None, said: format!("{name}: {said}") };
        let (count, clients) = self.model.clients_of(&server.it);
        let ends = matches!(verb, "stop" | "restart" | "disable");
        let runs = matches!(server.it.state, ServerState::Ready | ServerState::Starting);
        if ends && runs && (count > 0 || !clients.is_empty()) && !self.is_read_only {
            let who = if clients.is_empty() { format!("{count} clients") } else { clients.join(", ") };
            self.modals.push(Modal::Confirm(Confirm {
                title: format!("{verb} {name}?"),
                lines: vec![format!("It is used by {who}."), "Calls in flight fail.".to_owned()],
                is_yes: false,
                effects: vec![effect],
            }));
            return Vec::new();
        }
        if !self.is_read_only {
            self.say(format!("{name}: {verb} …"));
        }
        vec![effect]
    }

    /// Has the config edited: the draft that was refused, else as it stands.
    pub(super) fn edit_config(&mut self) -> Vec<Effect> {
        if self.is_kept_from() {
            return Vec::new();
        }
        match &self.config_draft {
            Some(draft) => vec![Effect::Edit { text: draft.text.clone(), kind: draft.kind.clone() }],
            None => vec![Effect::Fetch(Fetch::Config)],
        }
    }

    /// Sends the config that was edited. It is kept until it is taken over.
    pub(super) fn put_config(&mut self, text: String) -> Vec<Effect> {
        let Some(before) = self.config_draft.take() else { return Vec::new() };
        if text == before.text {
            self.say("the config is as it was");
            return Vec::new();
        }
        let draft = ConfigDraft { text, ..before };
        self.config_draft = Some(draft.clone());
        vec![Effect::PutConfig { draft }]
    }

    /// Says so, where nothing may be changed.
    fn is_kept_from(&mut self) -> bool {
        if self.is_read_only {
            self.complain(READ_ONLY);
        }
        self.is_read_only
    }

    pub(super) fn disconnect_selected(&mut self) -> Vec<Effect> {
        match self.selected_client().map(|one| one.it.id) {
            Some(id) => self.disconnect(id),
            None => Vec::new(),
        }
    }

    fn disconnect(&mut self, id: u64) -> Vec<Effect> {
        let Some(client) = self.model.clients.iter().find(|one| one.it.id == id) else { return Vec::new() };
        let name = client.it.name.clone().unwrap_or_else(|| format!("client {id}"));
        let path = format!("/v1/clients/{id}");
        let said = format!("{name}: its session has ended");
        self.modals.push(Modal::Confirm(Confirm {
            title: format!("disconnect {name}?"),
            lines: vec!["Its calls in flight are cancelled.".to_owned()],
            is_yes: false,
            effects: vec![Effect::Order { method: Method::Delete, path, body: None, said }],
        }));
        Vec::new()
    }

    /// Opens the form of the tool that is selected; of a problem or a server, the tools are shown first.
    pub(super) fn call_selected(&mut self) -> Vec<Effect> {
        if self.is_kept_from() {
            return Vec::new();
        }
        match self.selected_tool().map(|tool| tool.listed.name.clone()) {
            Some(name) => self.open_call(&name),
            None => {
                self.say("choose a tool to call");
                self.show(Screen::Tools)
            }
        }
    }

    pub(super) fn open_call(&mut self, name: &str) -> Vec<Effect> {
        let Some(tool) = self.model.tools.find(name) else { return Vec::new() };
        let schema = tool.listed.item.as_ref().map(|item| json::member(item.get(), "inputSchema"));
        let about = tool.listed.description.clone().unwrap_or_default();
        let purpose = Purpose::Call { tool: name.to_owned() };
        let title = format!("call {name}");
        match schema {
            Some(schema) => {
                let form = Form::new(&schema.unwrap_or_default());
                self.modals.push(Modal::Form(Box::new(FormModal { title, about, form, purpose })));
                Vec::new()
            }
            // The form opens once the schema is there.
            None => {
                self.say(format!("reading what {name} takes …"));
                self.modals.push(Modal::Waiting(Waiting {
                    number: 0,
                    what: title,
                    since: self.now,
                    progress: None,
                }));
                vec![Effect::Fetch(Fetch::Tool(name.to_owned()))]
            }
        }
    }

    /// Asks a server something, and waits for it.
    pub(super) fn ask(&mut self, what: String, path: &'static str, body: &impl Serialize) -> Vec<Effect> {
        let Ok(body) = to_raw_value(body) else { return Vec::new() };
        if self.is_kept_from() {
            return Vec::new();
        }
        self.asked += 1;
        let number = self.asked;
        self.modals.push(Modal::Waiting(Waiting { number, what, since: self.now, progress: None }));
        vec![Effect::Ask { number, path, body }]
    }

    fn how(&self) -> AskOptions {
        AskOptions { namespace: self.namespace.clone(), answers_questions: true, ..AskOptions::default() }
    }

    pub(super) fn call(&mut self, tool: &str, arguments: Option<Box<RawValue>>) -> Vec<Effect> {
        let request = CallRequest { name: tool.to_owned(), arguments, how: self.how() };
        self.ask(format!("call {tool}"), "/v1/call", &request)
    }

    /// Sends what a form was for.
    pub(super) fn send(&mut self, purpose: Purpose, object: String) -> Vec<Effect> {
        let text =
            |name: &str| json::member(&object, name).and_then(|text| json::text(&text)).unwrap_or_default();
        match purpose {
            Purpose::Call { tool } => self.call(&tool, RawValue::from_string(object).ok()),
            Purpose::Read => {
                let request = ReadRequest { uri: text("uri"), how: self.how() };
                self.ask(format!("read {}", request.uri), "/v1/read", &request)
            }
            Purpose::Prompt => {
                let arguments = serde_json::from_str(&text("arguments")).unwrap_or_default();
                let request = PromptRequest { name: text("name"), arguments, how: self.how() };
                self.ask(format!("prompt {}", request.name), "/v1/prompt", &request)
            }
            Purpose::Record => {
                let (name, filter) = (text("name"), Some(text("filter")).filter(|text| !text.is_empty()));
                let said = format!("recording {name}");
                let body = to_raw_value(&RecordingStart { name, filter }).ok();
                let path = "/v1/recordings".to_owned();
                vec![Effect::Order { method: Method::Post, path, body, said }]
            }
            Purpose::Question { id } => {
                let result = format!("{{\"action\":\"accept\",\"content\":{object}}}");
                vec![Effect::Answer { id, answer: RawValue::from_string(result).ok().map(answered) }]
            }
        }
    }

    /// Makes the call again that is marked, or selected.
    pub(super) fn replay(&mut self) -> Vec<Effect> {
        let traffic = &self.model.traffic;
        let list = &self.lists[Screen::Traffic.index()];
        let marked = list.marks.iter().next_back().and_then(|n| traffic.find(*n));
        let Some(frame) = marked.or(self.selected_frame()) else {
            self.complain("mark a call on the traffic screen first");
            return Vec::new();
        };
        let Some(body) = traffic.request_of(frame).and_then(|request| request.body.as_ref()) else {
            self.complain("the request of this call is not in view, or not whole; it cannot be made again");
            return Vec::new();
        };
        let method = json::member(body.get(), "method").and_then(|text| json::text(&text));
        let params = json::member(body.get(), "params").unwrap_or_default();
        let name = json::member(&params, "name").and_then(|text| json::text(&text));
        let (Some("tools/call"), Some(name)) = (method.as_deref(), name) else {
            self.complain("only calls of tools are made again");
            return Vec::new();
        };
        let arguments = json::member(&params, "arguments");
        let shown = arguments.clone().unwrap_or_default();
        let arguments = arguments.and_then(|text| RawValue::from_string(text).ok());
        let request = CallRequest { name: name.clone(), arguments, how: self.how() };
        let Ok(body) = to_raw_value(&request) else { return Vec::new() };
        self.asked += 1;
        let effect = Effect::Ask { number: self.asked, path: "/v1/call", body };
        self.modals.push(Modal::Confirm(Confirm {
            title: format!("call {name} again?"),
            lines: vec![shown.chars().take(200).collect(), "The tool runs once more.".to_owned()],
            is_yes: true,
            effects: vec![effect],
        }));
        Vec::new()
    }

    /// Ends the recording that runs, or asks for the name of a new one.
    pub(super) fn record(&mut self) -> Vec<Effect> {
        match self.model.recordings.iter().find(|one| one.is_running).map(|one| one.name.clone()) {
            Some(name) => vec![stop_recording(&name)],
            None => {
                self.open_form(Purpose::Record);
                Vec::new()
            }
        }
    }

    fn open_form(&mut self, purpose: Purpose) {
        let (title, mut form) = match purpose {
            Purpose::Read => ("read a resource", Form::of_texts(&[("uri", true)])),
            Purpose::Prompt => ("get a prompt", Form::of_texts(&[("name", true), ("arguments", false)])),
            _ => ("record the traffic", Form::of_texts(&[("name", true), ("filter", false)])),
        };
        if purpose == Purpose::Record {
            let is_taken = |name: &String| self.model.recordings.iter().any(|one| one.name == *name);
            let free = (1..1000).map(|n| format!("tui-{n}")).find(|name| !is_taken(name));
            let filter = self.lists[Screen::Traffic.index()].filter.clone();
            for (field, text) in form.fields.iter_mut().zip([free.unwrap_or_default(), filter]) {
                field.line = crate::form::Line::new(&text);
            }
        }
        let (title, about) = (title.to_owned(), String::new());
        self.modals.push(Modal::Form(Box::new(FormModal { title, about, form, purpose })));
    }

    /// Carries out a command of the palette.
    pub(super) fn command(&mut self, act: Act) -> Vec<Effect> {
        match act {
            Act::Action(Action::Palette) => Vec::new(),
            Act::Action(action) => self.act(action),
            Act::Server { verb, name } => self.order(verb, &name),
            Act::Call { tool } => self.open_call(&tool),
            Act::Disconnect { client } => self.disconnect(client),
            Act::Show { path, title } => {
                vec![Effect::Show { path: path.to_owned(), title: title.to_owned() }]
            }
            Act::Form(purpose) => {
                self.open_form(purpose);
                Vec::new()
            }
            Act::StopRecording { name } => vec![stop_recording(&name)],
            Act::Shell { line } => {
                self.say(format!("in a shell: {line}"));
                Vec::new()
            }
            Act::Daemon { verb } => {
                let said = format!("daemon: {verb}");
                let path = format!("/v1/daemon/{verb}");
                let effect = Effect::Order { method: Method::Post, path, body: None, said };
                if verb == "reload" {
                    return vec![effect];
                }
                let clients = self.model.clients.len();
                self.modals.push(Modal::Confirm(Confirm {
                    title: format!("daemon {verb}?"),
                    lines: vec![format!("{clients} clients are connected to it.")],
                    is_yes: false,
                    effects: vec![effect],
                }));
                Vec::new()
            }
        }
    }
}

pub(super) fn answered(result: Box<RawValue>) -> manifold_admin::QuestionAnswer {
    manifold_admin::QuestionAnswer { result: Some(result) }
}

fn stop_recording(name: &str) -> Effect {
    let path = format!("/v1/recordings/{}", segment(name));
    Effect::Order { method: Method::Delete, path, body: None, said: format!("recording {name} has ended") }
}
