//! A recording as a server: each request is answered as it was answered then.

pub(crate) mod eras;
mod handshake;
mod nearest;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde_json::value::RawValue;
use thiserror::Error;

use crate::canonical::canonical;
use crate::diff::tools;
use crate::exchange::{Exchange, Outcome, Said, Side, exchanges};
use crate::message::{Members, quoted};
use crate::reader::Recorded;
use eras::{dressed, is_input_required, is_modern, questions_of};

/// How a recording is played back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlaybackOptions {
    /// Wait as long as it took then, times this.
    pub pace: Option<f64>,
    /// Serve it although something was taken out of it.
    pub allow_redacted: bool,
    /// Stand in for this server, under its own names; or for the only one there is. Otherwise for the gateway.
    pub server: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlaybackError {
    #[error(
        "{0} of its answers had something secret taken out, so they are not what was answered then; \
         add --allow-redacted to serve them so"
    )]
    Redacted(usize),
    #[error(
        "nothing in it can be played back: no request in it, on the side that is to be served, has an answer"
    )]
    Empty,
}

/// What can be answered, and what was answered last.
#[derive(Debug)]
pub struct Playback {
    exchanges: Vec<Exchange>,
    /// By method and parameters: the places of all, and which is next.
    answers: HashMap<(String, String), (Vec<usize>, usize)>,
    tools: BTreeMap<String, Box<RawValue>>,
    options: PlaybackOptions,
}

/// What is done for a request, in this order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Wait(Duration),
    Notify {
        method: String,
        params: Option<String>,
    },
    /// The answer is awaited, whatever it is.
    Ask {
        method: String,
        params: Option<String>,
    },
    /// A result, as JSON.
    Answer(String),
    /// An error object, as JSON.
    Fail(String),
}

impl Playback {
    pub fn new(recorded: &Recorded, options: PlaybackOptions) -> Result<Self, PlaybackError> {
        let side = side(recorded, options.server.as_deref());
        let mut found = exchanges(recorded, &side);
        found.retain(|exchange| exchange.outcome.is_some());
        let redacted = found.iter().filter(|exchange| exchange.is_redacted).count();
        if redacted > 0 && !options.allow_redacted {
            return Err(PlaybackError::Redacted(redacted));
        }
        let tools = match &side {
            Side::Client => tools(recorded),
            Side::Server(id) => own_tools(recorded, id, &found),
        };
        if found.is_empty() && tools.is_empty() {
            return Err(PlaybackError::Empty);
        }
        let mut answers: HashMap<_, (Vec<usize>, usize)> = HashMap::new();
        for (place, exchange) in found.iter().enumerate() {
            let key = (exchange.method.clone(), canonical(exchange.params.as_deref()));
            answers.entry(key).or_default().0.push(place);
        }
        Ok(Self { exchanges: found, answers, tools, options })
    }

    /// Returns what to do for a request.
    pub(crate) fn steps(&mut self, method: &str, params: Option<&RawValue>) -> Vec<Step> {
        let is_modern = is_modern(params);
        if let Some(result) = self.handshake(method, params) {
            return vec![Step::Answer(dressed(method, &result, is_modern))];
        }
        let place = self.next(method, &canonical(params)).or_else(|| self.next_alike(method, params));
        match place.and_then(|place| self.exchanges.get(place).cloned().zip(Some(place))) {
            Some((exchange, place)) => self.replayed(&exchange, place, params),
            None => vec![self.unrecorded(method, params, is_modern)],
        }
    }

    /// Returns the next of the answers to this very request; the last one again after all.
    fn next(&mut self, method: &str, params: &str) -> Option<usize> {
        let (places, next) = self.answers.get_mut(&(method.to_owned(), params.to_owned()))?;
        let place = places.get(*next).or(places.last()).copied();
        *next += 1;
        place
    }

    /// Returns an answer to what is asked in other words: a list from its beginning, or again after a question.
    fn next_alike(&mut self, method: &str, params: Option<&RawValue>) -> Option<usize> {
        let given = params.and_then(Members::of).unwrap_or_default();
        if method.ends_with("/list") && given.get("cursor").is_none() {
            return self.next(method, "null");
        }
        given.get("inputResponses")?;
        let rest = without_responses(params);
        let alike = self.exchanges.iter().find(|exchange| {
            let is_retry = |params| Members::of(params).is_some_and(|it| it.get("inputResponses").is_some());
            exchange.method == method
                && exchange.params.as_deref().is_some_and(is_retry)
                && without_responses(exchange.params.as_deref()) == rest
        });
        let params = alike.map(|exchange| canonical(exchange.params.as_deref()))?;
        self.next(method, &params)
    }

    fn replayed(&self, exchange: &Exchange, place: usize, params: Option<&RawValue>) -> Vec<Step> {
        let is_modern = is_modern(params);
        let token = params.and_then(|params| Members::of(Members::of(params)?.get("_meta")?));
        let token = token.and_then(|meta| Some(meta.get("progressToken")?.get().to_owned()));
        let mut steps = Vec::new();
        let mut passed = 0;
        for (at, said) in &exchange.between {
            // Who has no session is asked in the answer, or not at all.
            if said.is_question && is_modern {
                continue;
            }
            steps.extend(self.wait(at.saturating_sub(passed)));
            passed = *at;
            steps.extend(step_of(said, token.as_deref()));
        }
        steps.extend(self.wait(exchange.took.saturating_sub(passed)));
        let mut outcome = exchange.outcome.clone();
        if let Some(Outcome::Result(result)) = &exchange.outcome
            && !is_modern
            && is_input_required(result)
        {
            steps.extend(questions_of(result));
            outcome = self.end_of(exchange, place).or(outcome);
        }
        steps.push(match outcome {
            Some(Outcome::Error(error)) => Step::Fail(error.get().to_owned()),
            Some(Outcome::Result(result)) => Step::Answer(dressed(&exchange.method, &result, is_modern)),
            None => Step::Answer("{}".to_owned()),
        });
        if !is_modern {
            steps.extend(exchange.after.iter().filter_map(|said| step_of(said, token.as_deref())));
        }
        steps
    }

    fn wait(&self, nanos: u64) -> Option<Step> {
        let pace = self.options.pace.filter(|pace| *pace > 0.0 && nanos > 0)?;
        Some(Step::Wait(Duration::from_nanos(nanos).mul_f64(pace)))
    }

    /// Returns how a call ended that was asked something on its way.
    fn end_of(&self, begun: &Exchange, place: usize) -> Option<Outcome> {
        let rest = without_responses(begun.params.as_deref());
        let later = self.exchanges.iter().skip(place + 1).filter(|exchange| {
            exchange.method == begun.method && without_responses(exchange.params.as_deref()) == rest
        });
        let mut outcomes = later.filter_map(|exchange| exchange.outcome.clone());
        outcomes.find(|outcome| match outcome {
            Outcome::Result(result) => !is_input_required(result),
            Outcome::Error(_) => true,
        })
    }

    /// Returns what to say to a request of which there is no answer.
    fn unrecorded(&self, method: &str, params: Option<&RawValue>, is_modern: bool) -> Step {
        let has_cursor = params.and_then(Members::of).is_some_and(|params| params.get("cursor").is_some());
        let empty = match method {
            _ if has_cursor => None,
            "tools/list" => Some(self.tool_list()),
            "resources/list" => Some(r#"{"resources":[]}"#.to_owned()),
            "resources/templates/list" => Some(r#"{"resourceTemplates":[]}"#.to_owned()),
            "prompts/list" => Some(r#"{"prompts":[]}"#.to_owned()),
            "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => Some("{}".to_owned()),
            _ => None,
        };
        if let Some(result) = empty.and_then(|result| RawValue::from_string(result).ok()) {
            return Step::Answer(dressed(method, &result, is_modern));
        }
        let message = nearest::message(&self.exchanges, method, params);
        Step::Fail(format!("{{\"code\":-32602,\"message\":{}}}", quoted(&message)))
    }

    /// Writes the list of tools where nobody asked for one while it was recorded.
    fn tool_list(&self) -> String {
        let mut tools: BTreeMap<&str, String> = BTreeMap::new();
        for name in self.exchanges.iter().filter_map(|exchange| exchange.tool.as_deref()) {
            let tool = format!("{{\"name\":{},\"inputSchema\":{{\"type\":\"object\"}}}}", quoted(name));
            tools.insert(name, tool);
        }
        tools.extend(self.tools.iter().map(|(name, tool)| (name.as_str(), tool.get().to_owned())));
        format!("{{\"tools\":[{}]}}", tools.into_values().collect::<Vec<_>>().join(","))
    }
}

/// Decides whom the recording stands in for.
fn side(recorded: &Recorded, server: Option<&str>) -> Side {
    let Some(wanted) = server else { return Side::Client };
    let of_servers = recorded.frames().filter(|frame| frame.hop == manifold_admin::Hop::Server);
    let mut ids: Vec<&String> = of_servers.filter_map(|frame| frame.server.as_ref()).collect();
    ids.sort();
    ids.dedup();
    match ids.as_slice() {
        ids if ids.iter().any(|id| *id == wanted) => Side::Server(wanted.to_owned()),
        [only] => Side::Server((*only).clone()),
        _ => Side::Client,
    }
}

/// Returns a server's tools under its own names, by the names that clients saw.
fn own_tools(recorded: &Recorded, id: &str, found: &[Exchange]) -> BTreeMap<String, Box<RawValue>> {
    let own_of_call: HashMap<u64, &String> =
        found.iter().filter_map(|exchange| Some((exchange.call?, exchange.tool.as_ref()?))).collect();
    let of_clients = exchanges(recorded, &Side::Client);
    let names = of_clients.into_iter().filter_map(|exchange| {
        let own = own_of_call.get(&exchange.call?)?;
        Some((exchange.tool?, (*own).clone()))
    });
    let names: HashMap<String, String> = names.collect();
    let renamed = tools(recorded).into_iter().filter_map(|(shown, tool)| {
        let stripped = || shown.strip_prefix(id)?.strip_prefix("__").map(str::to_owned);
        let own = names.get(&shown).cloned().or_else(stripped)?;
        let mut members = Members::of(&tool)?;
        members.set("name", quoted(&own));
        Some((own, RawValue::from_string(members.to_json()).ok()?))
    });
    renamed.collect()
}

fn without_responses(params: Option<&RawValue>) -> String {
    let Some(mut members) = params.and_then(Members::of) else { return canonical(params) };
    members.remove("inputResponses");
    canonical(RawValue::from_string(members.to_json()).ok().as_deref())
}

/// Returns what is said again, with the token of whoever asks now.
fn step_of(said: &Said, token: Option<&str>) -> Option<Step> {
    let method = said.method.clone();
    let mut params = said.params.as_ref().map(|params| params.get().to_owned());
    if said.is_question {
        return Some(Step::Ask { method, params });
    }
    if method == "notifications/progress" {
        // Without a token nobody waits for it.
        let mut members = Members::of(said.params.as_deref()?)?;
        members.set("progressToken", token?.to_owned());
        params = Some(members.to_json());
    }
    Some(Step::Notify { method, params })
}

#[cfg(test)]
mod tests;
