//! The line of the audit for each change, also for one that was refused or whose asker left in the middle of it.

use std::fmt::Write as _;

use hyper::HeaderMap;
use jiff::Timestamp;
use manifold_admin::{
    AuditLine, AuditOutcome, CommandError, Effect, ErrorCode, PermissionChange, Route, STALE_HEADER,
    STALE_IS_TRIED_AGAIN, ServerRename, VERB_HEADER,
};
use sha2::{Digest as _, Sha256};

use super::Office;
use super::answer::{Answer, Revisions};
use super::peer::{Peer, Scope};

/// A change on its way. Dropped before its end it is told as given up.
pub(super) struct Audited {
    office: Office,
    /// `None`: it changes nothing, or all has been said of it.
    line: Option<AuditLine>,
    was_told: bool,
    /// Who came too late thinks it out anew, and tells if that is given up.
    is_tried_again: bool,
}

impl Audited {
    pub(super) fn begin(
        office: &Office,
        peer: &Peer,
        route: &Route,
        headers: &HeaderMap,
        target: Option<&str>,
    ) -> Self {
        let told = |name: &str| headers.get(name).and_then(|told| told.to_str().ok());
        let face = told("manifold-face");
        // Only a command that uses this route is taken at its word.
        let verb = route.verbs.iter().find(|verb| Some(**verb) == told(VERB_HEADER)).or(route.verbs.first());
        let line = (route.effect == Effect::Changes).then(|| AuditLine {
            time: Timestamp::now().to_string(),
            actor: peer.actor(face),
            verb: verb.copied().unwrap_or(route.path).to_owned(),
            target: target.map(str::to_owned),
            ..AuditLine::default()
        });
        let is_tried_again = peer.scope == Scope::Socket && told(STALE_HEADER) == Some(STALE_IS_TRIED_AGAIN);
        Self { office: office.clone(), line, was_told: false, is_tried_again }
    }

    /// Notes what was passed: its digest, whose rule is changed by it, and what a server is called from now on.
    pub(super) fn note_body(&mut self, body: &[u8]) {
        let Some(line) = &mut self.line else { return };
        line.digest = (!body.is_empty()).then(|| digest(body));
        if line.verb == "ns allow"
            && let Ok(change) = serde_json::from_slice::<PermissionChange>(body)
            && !change.name.is_empty()
        {
            let verb = match change.allow {
                Some(true) => "ns allow",
                Some(false) => "ns deny",
                None => "ns unset",
            };
            verb.clone_into(&mut line.verb);
            let PermissionChange { namespace, server, name, .. } = change;
            line.target = Some(format!("{namespace} {server}.{name}").trim().to_owned());
        }
        if line.verb == "rename"
            && let Ok(ServerRename { to }) = serde_json::from_slice(body)
            && !to.is_empty()
            && let Some(target) = &mut line.target
        {
            target.push_str(" to ");
            target.push_str(&to);
        }
    }

    /// Tells of it before it is done: nobody may be left to tell afterwards.
    pub(super) fn done_first(&mut self) {
        if let Some(line) = &self.line {
            self.tell(AuditLine { outcome: AuditOutcome::Done, ..line.clone() });
            self.was_told = true;
        }
    }

    /// Tells what came of it.
    pub(super) fn end(mut self, answer: &Answer) {
        let Some(line) = self.line.take() else { return };
        let revisions = answer.extensions().get::<Revisions>().cloned();
        let (before, after) = revisions.map(|both| (both.before, both.after)).unzip();
        let error = answer.extensions().get::<CommandError>();
        if self.is_tried_again && error.is_some_and(|error| error.code == ErrorCode::Stale) {
            return;
        }
        let error = error.map(ToString::to_string);
        if error.is_none() && self.was_told {
            return;
        }
        let outcome = if error.is_some() { AuditOutcome::Refused } else { AuditOutcome::Done };
        self.tell(AuditLine { before, after, outcome, error, ..line });
    }

    fn tell(&self, line: AuditLine) {
        self.office.control.publish_audit(&line);
        self.office.program.audit(line);
    }
}

/// Tells that a page is shown what messages say. Of the user's own commands that is not told.
pub(super) fn tell_of_bodies(office: &Office, peer: &Peer, verb: &str, target: Option<&str>) {
    if peer.scope == Scope::Socket {
        return;
    }
    let line = AuditLine {
        time: Timestamp::now().to_string(),
        actor: peer.actor(None),
        verb: verb.to_owned(),
        target: Some(target.map_or_else(|| "bodies".to_owned(), |of| format!("bodies of {of}"))),
        outcome: AuditOutcome::Done,
        ..AuditLine::default()
    };
    office.control.publish_audit(&line);
    office.program.audit(line);
}

impl Drop for Audited {
    fn drop(&mut self) {
        if let Some(line) = self.line.take().filter(|_| !self.was_told) {
            let error = Some("whoever asked left before it was done; it may have been done".to_owned());
            self.tell(AuditLine { outcome: AuditOutcome::Interrupted, error, ..line });
        }
    }
}

fn digest(body: &[u8]) -> String {
    Sha256::digest(body).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
