//! What servers are asked, and what they say until it is answered.

use std::sync::PoisonError;
use std::time::Duration;

use manifold_admin::{AskEvent, CommandError, ErrorCode, Method, QuestionAnswer};
use manifold_admin_client::{ClientError, segment};
use serde_json::value::RawValue;

use super::{Asker, Stoppers, told};
use crate::effect::News;

/// A call may take as long as its server does; the gateway has a bound for it.
const PATIENCE: Duration = Duration::from_secs(3600);

pub(super) fn run(asker: &Asker, number: u64, path: &str, body: &RawValue, calls: &Stoppers) {
    let event =
        ask(asker, number, path, body, calls).unwrap_or_else(|error| AskEvent::Error { error: told(error) });
    calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    asker.tell(News::Asked { number, event });
}

/// Asks, tells what is said on the way, and returns the last of it.
fn ask(
    asker: &Asker,
    number: u64,
    path: &str,
    body: &RawValue,
    calls: &Stoppers,
) -> Result<AskEvent, ClientError> {
    let body = with_environment(asker, body)?;
    let client = asker.client(PATIENCE)?;
    calls.lock().unwrap_or_else(PoisonError::into_inner).insert(number, client.stopper()?);
    for event in client.events(Method::Post, path, Some(&body))? {
        let event = event?;
        match AskEvent::from_sse(&event.event, &event.data) {
            Some(last @ (AskEvent::Result { .. } | AskEvent::Error { .. })) => return Ok(last),
            Some(event) => _ = asker.tell(News::Asked { number, event }),
            None => {}
        }
    }
    let message = "the gateway hung up before it answered";
    Ok(AskEvent::Error { error: CommandError::new(ErrorCode::Failed, message) })
}

/// Adds whose variables and folder servers are started with, where that is for us to say.
fn with_environment(asker: &Asker, body: &RawValue) -> Result<Box<RawValue>, ClientError> {
    let environment = asker.gateway.upgrade().and_then(|gateway| gateway.asks_with());
    let unwritable = |error: serde_json::Error| ClientError::Unwritable(error.to_string());
    let Some(environment) = environment else { return Ok(body.to_owned()) };
    let environment = serde_json::to_string(&environment).map_err(unwritable)?;
    let rest = body.get().trim_start().trim_start_matches('{');
    RawValue::from_string(format!("{{\"client\":{environment},{rest}")).map_err(unwritable)
}

pub(super) fn answer(asker: &Asker, id: &str, answer: Option<QuestionAnswer>) {
    let answer = answer.unwrap_or(QuestionAnswer { result: None });
    let path = format!("/v1/questions/{}", segment(id));
    let told_it = asker.with(|client| client.send_raw(Method::Post, &path, Some(&answer)));
    if let Err(error) = told_it {
        asker.tell(super::failed("the answer was not taken".to_owned(), error));
    }
}
