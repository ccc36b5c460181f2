//! `start`, `stop`, `restart`, `enable`, `disable`, `refresh`: orders that are done when they are answered.

use manifold_admin::{ErrorCode, Server, ServerDetail, State};
use manifold_admin_client::{ClientError, segment};
use manifold_config::Edit;

use super::{Verb, suggested};
use crate::commands::record::{Planned, Record};
use crate::commands::source::{Need, Source};
use crate::config_editor::ConfigEditor;
use crate::output::{Exit, Failure};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Start,
    Stop,
    Restart,
    Enable,
    Disable,
    Refresh,
}

impl Order {
    fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Refresh => "refresh",
        }
    }

    /// What is started for this command alone would end with it.
    fn need(self) -> Need {
        match self {
            Self::Start | Self::Stop | Self::Restart => Need::Running,
            Self::Enable | Self::Disable => Need::Written,
            Self::Refresh => Need::Servers,
        }
    }
}

pub(super) fn run(order: Order, name: &str, verb: &Verb) -> Result<Exit, Failure> {
    verb.end_on_interrupt()?;
    let source = verb.reach_for_change(order.need())?;
    let waiting = verb.output.progress(&format!("{} {name}", order.as_str()));
    let path = format!("/v1/servers/{}/{}", segment(name), order.as_str());
    let client = source.client()?;
    let noted = noted(order, name, verb);
    // What is not noted here, for the gateway has another config, is noted by it.
    let client = if noted.is_some() { client.keeps_record() } else { client };
    let answer = client.post::<Server>(&path);
    drop(waiting);
    if let Some((record, planned)) = noted {
        record.settle(&planned, answer.is_ok(), &verb.output);
    }
    let server = answer.map_err(|error| refused(error, name, &source))?;
    let mut detail = ServerDetail::of(&server);
    detail.answered_by = Some(source.kind().to_owned());
    if source.is_own() && matches!(detail.row.state, State::Ready | State::Starting) {
        // What was started for this command ends with it.
        detail.row.state = State::Idle;
    }
    if verb.output.is_json() {
        verb.output.json(&detail);
    } else {
        verb.output.line(&outcome(order, &server, detail.why.as_deref()));
    }
    Ok(Exit::Ok)
}

/// Notes what an order about the config will make of it, so that it can be undone; `None` where it changes nothing.
fn noted(order: Order, name: &str, verb: &Verb) -> Option<(Record, Planned)> {
    let enabled = match order {
        Order::Enable => true,
        Order::Disable => false,
        Order::Start | Order::Stop | Order::Restart | Order::Refresh => return None,
    };
    let editor = ConfigEditor::new(verb.options.clone());
    let base = editor.base().ok()?;
    let edit = Edit::SetEnabled { id: name.to_owned(), enabled };
    let after =
        editor.draft(&base, &[edit]).ok().map(|draft| draft.text).filter(|text| *text != base.text)?;
    let planned = Planned { path: base.path, before: base.is_there.then_some(base.text), after };
    let verb_name = order.as_str();
    let record = Record::of(verb, verb_name, &format!("{verb_name} {name}")).and_then(|mut record| {
        record.note(&planned)?;
        Ok(record)
    });
    match record {
        Ok(record) => Some((record, planned)),
        Err(failure) => {
            verb.output.remark(&format!("this change cannot be undone: {}", failure.message));
            None
        }
    }
}

/// Says how a server is, now that the order is carried out.
fn outcome(order: Order, server: &Server, why: Option<&str>) -> String {
    match (server.state, why) {
        // An order about the config is carried out all the same.
        (State::Failed, Some(why)) if order == Order::Enable => {
            format!("{} is enabled, and has failed: {why}", server.key)
        }
        (State::Failed, Some(why)) => format!("{} has failed: {why}", server.key),
        // Whether it runs by now was not asked.
        (state, _) if order == Order::Enable && state != State::Disabled => {
            format!("{} is enabled", server.key)
        }
        (state, _) => format!("{} is {}", server.key, state.as_str()),
    }
}

/// Adds the nearest name to a refusal of one that is not there.
pub(super) fn refused(error: ClientError, name: &str, source: &Source) -> Failure {
    let is_unknown =
        matches!(&error, ClientError::Refused { error, .. } if error.code == ErrorCode::UnknownServer);
    let failure = Failure::from(error);
    match failure.hint {
        None if is_unknown => {
            let servers = source.snapshot().map(|snapshot| snapshot.servers).unwrap_or_default();
            failure.hint(suggested(&servers, name))
        }
        _ => failure,
    }
}
