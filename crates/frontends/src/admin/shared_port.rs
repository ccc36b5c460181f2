//! The page on a port that is not its own: that of HTTP, whose token lets it in. Nobody edits there.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use manifold_admin::{CommandError, ErrorCode};

use super::answer::{Answer, refusal};
use super::peer::{Peer, Scope};
use super::route::{self, Found};
use super::{Office, access, serve, web};

/// The page as HTTP has it beside its clients.
#[derive(Clone)]
pub struct SharedPage {
    office: Office,
    peer: Arc<Peer>,
}

impl SharedPage {
    /// Shows the page to those with the token, who may look, or look and act.
    pub fn new(office: Office, may_act: bool) -> Self {
        let scope = if may_act { Scope::Act } else { Scope::View };
        let peer = Peer { uid: None, pid: None, program: None, face: "web:http".to_owned(), scope };
        Self { office, peer: Arc::new(peer) }
    }

    /// Returns whether a path is one of the page's files.
    pub(crate) fn is_file(path: &str) -> bool {
        path == "/ui" || path.starts_with("/ui/")
    }

    /// Returns whether a path is one of those that the page asks.
    pub(crate) fn is_asked(path: &str) -> bool {
        path == "/v1" || path.starts_with("/v1/")
    }

    pub(crate) fn file(head: &Parts) -> Answer {
        web::file(head)
    }

    /// Judges a request by its head; its token has been seen.
    pub(crate) fn judge(&self, head: &Parts, scheme: &str, host: &str) -> Result<(), CommandError> {
        let length = head.headers.get(CONTENT_LENGTH);
        let has_body =
            length.is_some_and(|length| length != "0") || head.headers.contains_key(TRANSFER_ENCODING);
        web::check_page(head, scheme, host, has_body)?;
        match route::find(&head.method, head.uri.path()) {
            // Codes are for the page's own port.
            Found::Route(route, _) if route.path.starts_with("/v1/web/") => {
                let message = "here the token of the gateway lets a page in, and no code";
                Err(CommandError::new(ErrorCode::Denied, message))
            }
            Found::Route(route, _) => access::check(&self.peer, route),
            Found::NotAllowed(_) | Found::Unknown => Ok(()),
        }
    }

    /// Answers a request that was judged.
    pub(crate) async fn answer(&self, head: &Parts, body: Bytes) -> Answer {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.uri.clone();
        *request.headers_mut() = head.headers.clone();
        self.peer.say_scope(serve::answer(&self.office, &self.peer, request).await)
    }

    pub(crate) fn refuse(&self, error: &CommandError) -> Answer {
        serve::with_headers(refusal(error), &self.office.control.cursor().to_string())
    }
}

/// Says that there is no token to come in with.
pub(crate) fn no_token(is_set: bool) -> CommandError {
    let (message, hint) = match is_set {
        true => ("this page needs the gateway's token", "give the page the token of `server.token`"),
        false => (
            "this gateway has no token, so nobody is let in as a page",
            "set `server.token`, or run `manifold open`",
        ),
    };
    CommandError { hint: Some(hint.to_owned()), ..CommandError::new(ErrorCode::SessionEnded, message) }
}
