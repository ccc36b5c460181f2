//! What is heard of the gateway.

use manifold_admin::{AskEvent, CommandError, ErrorCode, Happening, escaped_line};
use serde_json::value::RawValue;

use super::modals::decline;
use super::orders::answered;
use crate::effect::{Effect, Fetch, Frames, News};
use crate::form::{Form, json};
use crate::model::tools::Load;
use crate::model::traffic::Stream;
use crate::state::{Confirm, FormModal, Link, Modal, Purpose, Screen, State, TextModal};

impl State {
    pub(crate) fn news(&mut self, news: News) -> Vec<Effect> {
        let effects = self.hear(news);
        self.settle();
        self.permitted(effects)
    }

    fn hear(&mut self, news: News) -> Vec<Effect> {
        match news {
            News::Connected { about, snapshot } => return self.connected(*about, *snapshot),
            News::Event(event) => {
                if let Happening::Recording { recording, .. } = &event.happening
                    && let Some(why) = &recording.problem
                {
                    self.complain(&format!("recording {}: {why}", recording.name));
                }
                if self.model.happened(*event, self.now) {
                    return vec![Effect::Reread];
                }
            }
            News::Lost { why, retry_ms } => {
                let why = escaped_line(&why).into_owned();
                self.link = Link::Lost { why, retry_at: self.now + retry_ms };
            }
            News::Servers(servers) => self.model.take_servers(servers, self.now),
            News::Tools(Ok(listing)) => self.model.tools.take(listing),
            News::Tools(Err(why)) => {
                self.model.tools.load = Load::Failed(escaped_line(&why).into_owned());
            }
            News::Tool { name, item } => return self.defined(&name, item),
            News::Logs(lines) => self.model.logs.take(lines),
            News::Recordings(recordings) => self.model.recordings = recordings.unwrap_or_default(),
            News::Done { said } => {
                self.say(escaped_line(&said).into_owned());
                if self.screen == Screen::Traffic {
                    return vec![Effect::Fetch(Fetch::Recordings)];
                }
            }
            News::Failed { what, error } => self.failed(&what, &error),
            News::Shown { title, text } => {
                let text = json::pretty(&text);
                self.modals.push(Modal::Text(Box::new(TextModal::new(title, &text))));
            }
            News::Asked { number, event } => return self.asked(number, event),
            News::Traffic { run, item } if run == self.traffic_run => match item {
                Frames::Open => self.model.traffic.stream = Stream::Open,
                Frames::Item(item) => self.model.traffic.add(item),
                Frames::Missing => self.model.traffic.stream = Stream::Missing,
                Frames::Refused(why) => {
                    self.model.traffic.stream = Stream::Refused(escaped_line(&why).into_owned());
                }
                Frames::Ended => self.model.traffic.stream = Stream::NotAsked,
            },
            News::Traffic { .. } => {}
            News::Config(draft) if self.modals.is_empty() => {
                let effect = Effect::Edit { text: draft.text.clone(), kind: draft.kind.clone() };
                self.config_draft = Some(draft);
                return vec![effect];
            }
            News::Config(_) => {}
            News::ConfigPut(put) => self.config_put(put),
            News::Edited(Ok(text)) if self.modals.is_empty() => return self.put_config(text),
            News::Edited(Ok(text)) => {
                if let Some(Modal::Form(modal)) = self.modals.last_mut() {
                    modal.form.take_json(&text);
                }
            }
            News::Edited(Err(why)) => self.complain(&why),
            News::Copied(what) => self.say(what),
        }
        Vec::new()
    }

    fn connected(&mut self, about: manifold_admin::About, snapshot: manifold_admin::Snapshot) -> Vec<Effect> {
        if matches!(self.link, Link::Lost { .. }) {
            self.say("connected again");
        }
        self.link = Link::Live;
        self.model.take(about, snapshot, self.now);
        let names = self.model.servers.iter().map(|one| one.it.key.to_string()).collect();
        let mut effects = vec![Effect::Fetch(Fetch::Logs(names))];
        effects.extend(self.wanted_tools());
        if self.screen == Screen::Traffic && self.model.traffic.stream != Stream::Open {
            effects.extend(self.open_traffic());
        }
        effects
    }

    /// Says what came of the config that was edited. What was refused is kept, to be corrected.
    fn config_put(&mut self, put: Result<(), Box<CommandError>>) {
        match put {
            Ok(()) => {
                self.config_draft = None;
                self.say("the config is changed");
            }
            Err(error) => {
                if error.code == ErrorCode::Stale {
                    self.config_draft = None;
                }
                self.failed("config", &error);
            }
        }
    }

    /// Says what was not done, and why.
    fn failed(&mut self, what: &str, error: &CommandError) {
        let hint = error.hint.as_deref().map(|hint| format!(" · {hint}")).unwrap_or_default();
        self.complain(&format!("{what}: {}{hint}", error.message));
    }

    /// Opens the form that waits for this definition.
    fn defined(&mut self, name: &str, item: Result<Option<Box<RawValue>>, String>) -> Vec<Effect> {
        let title = format!("call {name}");
        let is_waited_for = matches!(self.modals.last(), Some(Modal::Waiting(waiting)) if waiting.number == 0 && waiting.what == title);
        if is_waited_for {
            self.modals.pop();
        }
        match item {
            Ok(Some(item)) => {
                self.model.tools.define(name, item);
                if is_waited_for {
                    return self.open_call(name);
                }
            }
            Ok(None) => self.complain(&format!("{name} is not there any more")),
            Err(why) => self.complain(&format!("{name}: {why}")),
        }
        Vec::new()
    }

    fn asked(&mut self, number: u64, event: AskEvent) -> Vec<Effect> {
        let is_it = |modal: &Modal| matches!(modal, Modal::Waiting(waiting) if waiting.number == number);
        let Some(at) = self.modals.iter().position(is_it) else {
            // Nobody waits for it any more.
            return match event {
                AskEvent::Question { id, .. } => vec![decline(id)],
                _ => Vec::new(),
            };
        };
        match event {
            AskEvent::Progress { params } => {
                if let Modal::Waiting(waiting) = &mut self.modals[at] {
                    waiting.progress = Some(progress(params.get()));
                }
            }
            AskEvent::Question { id, server, method, params } => {
                return self.question(id, server, &method, params.as_deref());
            }
            AskEvent::Withdrawn { id } => self.withdraw(&id),
            AskEvent::Result { result } => {
                let Modal::Waiting(waiting) = self.modals.remove(at) else { return Vec::new() };
                let is_error = json::member(result.get(), "isError").as_deref() == Some("true");
                let took = self.now.saturating_sub(waiting.since);
                let state = if is_error { "error" } else { "ok" };
                let title = format!("{} · {state} · {took} ms · {} bytes", waiting.what, result.get().len());
                let mut text = TextModal::new(title, &shown(result.get()));
                (text.is_bad, text.whole) = (is_error, result.get().to_owned());
                self.modals.push(Modal::Text(Box::new(text)));
            }
            AskEvent::Error { error } => {
                let Modal::Waiting(waiting) = self.modals.remove(at) else { return Vec::new() };
                let hint = error.hint.as_deref().map(|hint| format!("\n\n{hint}")).unwrap_or_default();
                let mut text =
                    TextModal::new(format!("{} · failed", waiting.what), &format!("{}{hint}", error.message));
                text.is_bad = true;
                self.modals.push(Modal::Text(Box::new(text)));
            }
        }
        Vec::new()
    }

    /// Puts a question of a server's to whoever looks; what cannot be asked here is declined.
    fn question(
        &mut self,
        id: String,
        server: Option<String>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Vec<Effect> {
        let server = server.unwrap_or_else(|| "the server".to_owned());
        let params = params.map(RawValue::get).unwrap_or("{}");
        let text = |member: &str| json::member(params, member).and_then(|text| json::text(&text));
        let message = text("message").unwrap_or_default();
        match (method, text("mode").as_deref()) {
            ("elicitation/create", None | Some("form")) => {
                let form = Form::new(&json::member(params, "requestedSchema").unwrap_or_default());
                self.modals.push(Modal::Form(Box::new(FormModal {
                    title: format!("{server} asks"),
                    about: message,
                    form,
                    purpose: Purpose::Question { id },
                })));
                Vec::new()
            }
            ("elicitation/create", Some("url")) => {
                let accepted = RawValue::from_string("{\"action\":\"accept\"}".to_owned()).ok();
                let url = text("url").unwrap_or_default();
                self.modals.push(Modal::Confirm(Confirm {
                    title: format!("{server} asks: done?"),
                    lines: vec![message, "Open this address if you trust it:".to_owned(), url],
                    is_yes: false,
                    effects: vec![Effect::Answer { id, answer: accepted.map(answered) }],
                }));
                Vec::new()
            }
            _ => {
                self.complain(&format!("{server} asks for `{method}`, which is declined here"));
                vec![decline(id)]
            }
        }
    }

    fn withdraw(&mut self, id: &str) {
        self.modals.retain(|modal| match modal {
            Modal::Form(form) => form.purpose != Purpose::Question { id: id.to_owned() },
            Modal::Confirm(confirm) => !confirm
                .effects
                .iter()
                .any(|effect| matches!(effect, Effect::Answer { id: asked, .. } if asked == id)),
            _ => true,
        });
    }
}

fn progress(params: &str) -> String {
    let member = |name| json::member(params, name);
    let message = member("message").and_then(|text| json::text(&text)).unwrap_or_default();
    let total = member("total").map(|total| format!(" of {total}")).unwrap_or_default();
    let done = member("progress").unwrap_or_default();
    escaped_line(&format!("{done}{total} {message}")).into_owned()
}

/// Returns the texts of a result where it has nothing else, else all of it as JSON.
fn shown(result: &str) -> String {
    let content = json::member(result, "content").and_then(|list| json::elements(&list));
    let texts: Option<Vec<String>> = content
        .map(|content| content.iter().filter_map(|item| json::text(&json::member(item, "text")?)).collect());
    let has_more = json::member(result, "structuredContent").is_some();
    match (texts, json::member(result, "content").and_then(|list| json::elements(&list))) {
        (Some(texts), Some(content)) if texts.len() == content.len() && !texts.is_empty() && !has_more => {
            texts.join("\n")
        }
        _ => json::pretty(result),
    }
}
