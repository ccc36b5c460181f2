//! What an operator asks of servers, through the same gateway and rules as any client. Whoever leaves before the answer
//! takes the call back, at the server too.

mod asking;
mod seen;
mod wanted;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::StatusCode;
use manifold_admin::{AskEvent, CommandError, ErrorCode};
use manifold_engine::{Audience, ClientFacts, Gateway};
use manifold_protocol::{Kind, Raw, Revision};
use tokio::time::{Instant, timeout, timeout_at};

use super::answer::{Answer, bytes};
use super::peer::Peer;
use super::request::Asked;
use super::{Office, access, sse, underway};
use crate::modern::facts_of_anyone;
use asking::Asking;
use wanted::Wanted;

/// What an operator can do. It is the same whether or not somebody is there to answer, so that a server offers the same to
/// both; where nobody is, questions are declined.
const CAPABILITIES: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;

pub(super) async fn ask(
    office: &Office,
    peer: &Arc<Peer>,
    asked: &Asked,
    path: &str,
) -> Result<Answer, CommandError> {
    let underway = office.underway.begin()?;
    let wants_events = asked.wants_events();
    let mut wanted = Wanted::read(asked, path)?;
    let patience = wanted.how.timeout_ms.map(Duration::from_millis);
    let deadline = patience.map(|patience| (Instant::now() + patience, patience));
    let environment = wanted.how.client.take().map_or_else(|| asked.environment(), |told| Ok(Some(told)))?;
    access::check_environment(peer, environment.as_ref())?;
    let gateway = office.program.open(wanted.how.namespace.as_deref(), environment)?;
    introduce(&gateway);
    if let Some((kind, name)) = wanted.name.take() {
        let finding = async {
            match kind {
                Kind::Prompts => gateway.find_prompt_for_operator(&name).await,
                _ => gateway.find_tool_for_operator(&name).await,
            }
        };
        // Servers may have to be started for it.
        let found = async {
            match deadline {
                Some((at, patience)) => timeout_at(at, finding).await.map_err(|_| timed_out(patience)),
                None => Ok(finding.await),
            }
        };
        let found = tokio::select! {
            found = found => found?,
            () = underway.cut_off() => return Err(underway::not_begun()),
        };
        let found = found.map_err(|missing| missing.into_error(kind, &name))?;
        wanted.owner = Some(found.server);
        wanted.set_name(&found.name);
    }
    if wants_events {
        wanted.call.set_param("_meta", Raw::from_static(r#"{"progressToken":1}"#));
    }
    // A question can be told to somebody who listens, and to nobody else.
    let answers = wanted.how.answers_questions && wants_events;
    let asking = Asking::begin(office, gateway, wanted, (answers, deadline), underway);
    match wants_events {
        true => Ok(events(asking)),
        false => result(asking).await,
    }
}

/// Says who asks, where the servers work for nobody else.
pub(super) fn introduce(gateway: &Arc<Gateway>) {
    match gateway.audience() {
        Audience::One => gateway.admit(|| ClientFacts {
            capabilities: Raw::from_static(CAPABILITIES),
            info: operator(),
            revision: Revision::LATEST,
        }),
        Audience::Shared => gateway.admit(|| facts_of_anyone(None)),
    }
}

/// Answers with the result alone.
async fn result(mut asking: Asking) -> Result<Answer, CommandError> {
    loop {
        match asking.next().await {
            AskEvent::Result { result } => {
                return Ok(bytes(StatusCode::OK, String::from(Box::<str>::from(result)).into()));
            }
            AskEvent::Error { error } => return Err(error),
            AskEvent::Progress { .. } | AskEvent::Question { .. } | AskEvent::Withdrawn { .. } => {}
        }
    }
}

/// Answers with all that happens until the result.
fn events(asking: Asking) -> Answer {
    sse::answer(stream::unfold(Some(asking), |asking| async move {
        let mut asking = asking?;
        let mut text = String::new();
        let Ok(event) = timeout(sse::HEARTBEAT, asking.next()).await else {
            return Some((Bytes::from_static(sse::STILL_HERE.as_bytes()), Some(asking)));
        };
        let (name, data) = event.to_sse();
        sse::write(&mut text, None, name, &data);
        let is_over = matches!(event, AskEvent::Result { .. } | AskEvent::Error { .. });
        Some((Bytes::from(text), (!is_over).then_some(asking)))
    }))
}

/// Returns what servers are told of who asks.
fn operator() -> Raw {
    Raw::from_static(concat!(r#"{"name":"manifold","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#))
}

fn timed_out(after: Duration) -> CommandError {
    let message = format!("no answer came within {} ms; the call was cancelled", after.as_millis());
    CommandError {
        hint: Some("a longer time can be given with `--timeout`, or `timeoutMs` over the API".to_owned()),
        ..CommandError::new(ErrorCode::TimedOut, message)
    }
}
