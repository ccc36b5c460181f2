//! Orders to servers that nobody waits for: answered with 202 as soon as they are begun. What comes of them is a line of the
//! audit, and events.

use std::any::Any;
use std::sync::Arc;

use hyper::StatusCode;
use manifold_admin::{CommandError, ErrorCode, Method, Route};

use super::answer::{Answer, json, refusal};
use super::audit::Audited;
use super::peer::Peer;
use super::request::Asked;
use super::{Office, serve, servers};

/// An order, and who gave it.
pub(super) struct Order {
    pub(super) office: Office,
    pub(super) peer: Arc<Peer>,
    pub(super) route: &'static Route,
    pub(super) asked: Asked,
}

/// Returns whether a request is an order to a server, with `wait=0`. A login is none: what is waited for is its link, and
/// that comes at once.
pub(super) fn is_wanted(route: &Route, asked: &Asked) -> bool {
    let is_order = route.method == Method::Post
        && route.path.starts_with("/v1/servers/{id}/")
        && !route.path.ends_with("/login");
    is_order && matches!(asked.query.get("wait"), Some("0" | "false"))
}

impl Order {
    /// Has it carried out, and answers with how the server was before. The program does not end for want of clients while
    /// `hold` is held.
    pub(super) fn begin(self, audited: Audited, hold: impl Any + Send) -> Answer {
        let begun = servers::find(&self.office, &self.asked.name)
            .and_then(|server| Ok((server, self.office.underway.begin()?)));
        let (server, underway) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                let answer = refusal(&error);
                audited.end(&answer);
                return answer;
            }
        };
        let control = self.office.control.clone();
        control.spawn(async move {
            let answer = tokio::select! {
                answer = self.carry_out() => answer,
                () = underway.cut_off() => Err(cut_off()),
            };
            audited.end(&answer.unwrap_or_else(|error| refusal(&error)));
            drop(hold);
        });
        let mut answer = json(&server);
        *answer.status_mut() = StatusCode::ACCEPTED;
        answer
    }

    async fn carry_out(&self) -> Result<Answer, CommandError> {
        serve::handle(&self.office, &self.peer, self.route, &self.asked).await
    }
}

/// Returns what the audit says of one that was still under way at the program's end.
fn cut_off() -> CommandError {
    let message = "the gateway ended before it was done; it may have been done";
    CommandError::new(ErrorCode::ShuttingDown, message)
}
