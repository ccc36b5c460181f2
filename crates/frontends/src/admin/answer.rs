//! Answers, as they are sent.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{ALLOW, CONTENT_TYPE, ETAG, HeaderValue};
use hyper::{Response, StatusCode};
use manifold_admin::{CommandError, ErrorBody, ErrorCode};
use serde::Serialize;

use super::errors::status;

pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;
pub(crate) type Answer = Response<AnswerBody>;

/// The revision of the config before and after a change, for the audit.
#[derive(Debug, Clone)]
pub(super) struct Revisions {
    pub(super) before: String,
    pub(super) after: String,
}

/// Answers with something of ours.
pub(super) fn json(value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(mut text) => {
            text.push(b'\n');
            bytes(StatusCode::OK, text.into())
        }
        Err(error) => {
            let message = format!("the answer cannot be written: {error}");
            refusal(&CommandError::new(ErrorCode::Failed, message))
        }
    }
}

/// Answers with JSON that is written already; it goes out byte for byte.
pub(super) fn bytes(status: StatusCode, text: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(text).boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

pub(super) fn refusal(error: &CommandError) -> Answer {
    let body = serde_json::to_vec(&ErrorBody { error: error.clone() }).unwrap_or_default();
    let mut answer = bytes(status(error.code), body.into());
    answer.extensions_mut().insert(error.clone());
    answer
}

/// Answers that a resource is there and this cannot be done to it.
pub(super) fn not_allowed(allow: &str) -> Answer {
    let message = format!("this cannot be done to it; what can: {allow}");
    let mut answer = refusal(&CommandError::new(ErrorCode::UnknownRoute, message));
    *answer.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    set_allow(&mut answer, allow);
    answer
}

/// Answers what can be done to a resource.
pub(super) fn options(allow: &str) -> Answer {
    let mut answer = Response::new(Full::default().boxed_unsync());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    set_allow(&mut answer, allow);
    answer
}

/// Names the revision of the config that was answered with.
pub(super) fn with_revision(mut answer: Answer, revision: &str) -> Answer {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{revision}\"")) {
        answer.headers_mut().insert(ETAG, tag);
    }
    answer
}

fn set_allow(answer: &mut Answer, allow: &str) {
    if let Ok(allow) = HeaderValue::from_str(allow) {
        answer.headers_mut().insert(ALLOW, allow);
    }
}
