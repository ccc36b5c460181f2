//! The page beside the clients, where the config wants it: its files for all, what it asks for those with the token.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;

use super::admission::{Admission, Admitted, Refused};
use super::answers::problem;
use super::body::Body;
use super::peer::Peer;
use super::shared::Shared;
use crate::admin::{Answer, SharedPage, no_token};

/// Returns the page, where a request is for it.
pub(super) fn wanted<'s>(head: &Parts, shared: &'s Shared) -> Option<&'s SharedPage> {
    let path = head.uri.path();
    shared.site.page.as_ref().filter(|_| SharedPage::is_file(path) || SharedPage::is_asked(path))
}

/// Judges a request for the page by its head.
pub(super) fn admit(
    head: &Parts,
    page: &SharedPage,
    peer: &Peer,
    shared: &Shared,
) -> Result<Admitted, Box<Response<Body>>> {
    let refused = |answer| closing(into_response(answer));
    let admission = &shared.site.admission;
    let host = match admission.check_host(head) {
        Ok(host) => host,
        Err(why) => return Err(closing(problem(why.status(), why.message()))),
    };
    if SharedPage::is_file(head.uri.path()) {
        return Ok(Admitted::without_token(peer.address));
    }
    let scheme = if admission.secure { "https" } else { "http" };
    // Before the token: whoever is no page of ours learns nothing of it.
    page.judge(head, scheme, host).map_err(|error| refused(page.refuse(&error)))?;
    let has_tokens = admission.has_operators_token();
    let admitted = admission.admit_page(&head.headers, peer.address).filter(|_| has_tokens);
    admitted.ok_or_else(|| {
        // Here as elsewhere only who fails is counted (L17).
        let is_wrong = has_tokens && Admission::is_guess(&head.headers);
        if is_wrong && !shared.token_failures.may_fail(peer.address) {
            return closing(problem(Refused::Guessed.status(), Refused::Guessed.message()));
        }
        refused(page.refuse(&no_token(has_tokens)))
    })
}

/// Ends the connection: what is left of a body that was not read must not be taken for the next request.
fn closing(mut response: Response<Body>) -> Box<Response<Body>> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    Box::new(response)
}

/// Answers a request for the page.
pub(super) async fn answer(head: &Parts, page: &SharedPage, body: Bytes) -> Response<Body> {
    let answer = match SharedPage::is_file(head.uri.path()) {
        true => SharedPage::file(head),
        false => page.answer(head, body).await,
    };
    let is_stream = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    if is_stream {
        return answer.map(Body::control);
    }
    let (parts, body) = answer.into_parts();
    let bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Response::from_parts(parts, Body::whole(bytes))
}

/// Takes over an answer that is there whole.
fn into_response(answer: Answer) -> Response<Body> {
    use std::task::{Context, Poll, Waker};
    let (parts, body) = answer.into_parts();
    let collected = std::pin::pin!(body.collect()).poll(&mut Context::from_waker(Waker::noop()));
    let bytes = match collected {
        Poll::Ready(Ok(body)) => body.to_bytes(),
        _ => Bytes::new(),
    };
    Response::from_parts(parts, Body::whole(bytes))
}
