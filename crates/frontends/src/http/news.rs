//! What replicas tell each other of sessions, and what is noted of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use manifold_engine::Lock as _;
use manifold_protocol::envelope::{self, Incoming, Message, Outcome};
use manifold_protocol::{Id, Outgoing, Raw, RawObject, notification};
use tokio::sync::oneshot;
use tokio::time::interval;
use tracing::debug;

use super::sessions::HttpSession;
use super::shared::Shared;
use crate::replica::{Heard, News, Note, Replica};
use crate::session::Outlet;

/// What is longer is not told, and not noted: it is a client's own text.
const MAX_TEXT: usize = 8 << 10;
/// How often is said which sessions are in use.
const USED_EVERY: Duration = Duration::from_secs(60);

/// How often it is tried to say of which sessions are over, where that could not be said.
const TRIED_EVERY: Duration = Duration::from_secs(1);

/// Listens to the other replicas, and tells them which sessions are in use, for as long as it is polled.
pub(super) async fn keep(shared: Arc<Shared>) {
    let Some(replica) = shared.site.replica.clone() else { return };
    let Some(link) = replica.link().cloned() else { return };
    let (listening, me) = (Arc::downgrade(&shared), replica.number());
    link.listen(Box::new(move |heard| {
        let Some(shared) = listening.upgrade() else { return };
        match heard {
            Heard::News(text) => {
                if let Some(news) = News::read(text, me) {
                    hear(news, &shared);
                }
            }
            Heard::Missed => {
                let Some(replica) = shared.site.replica.clone() else { return };
                let sids = shared.sessions.sids();
                replica.tasks.spawn_background(async move { end_those_over(sids, &shared).await });
            }
        }
    }));
    let (mut ticks, mut tries) = (interval(USED_EVERY), interval(TRIED_EVERY));
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = tries.tick() => {
                shared.tell_unsaid_ends().await;
                continue;
            }
        }
        let used = shared.sessions.used_within(USED_EVERY);
        if !used.is_empty() {
            link.used(used.clone()).await;
            end_those_over(used, &shared).await;
        }
    }
}

/// Ends those of these sessions that were ended elsewhere: the news of that may not have come.
async fn end_those_over(sids: Vec<String>, shared: &Shared) {
    let Some(link) = shared.site.replica.as_ref().and_then(|replica| replica.link()) else { return };
    for sid in link.over(sids).await.unwrap_or_default() {
        shared.sessions.end_sid(&sid);
    }
}

fn hear(news: News, shared: &Arc<Shared>) {
    match news {
        News::Noted { sid, number } => {
            let Some(replica) = shared.site.replica.clone() else { return };
            let Some(link) = replica.link().cloned() else { return };
            let session = shared.sessions.by_sid(&sid);
            replica.clone().tasks.spawn_background(async move {
                if let Some(session) = session
                    && let Ok(notes) = link.session(&sid).await
                {
                    session.session.recall(&notes);
                }
                if let Some(number) = number {
                    link.tell(News::Followed { number }.encode(replica.number()));
                }
            });
        }
        News::Followed { number } => {
            if let Some(replica) = &shared.site.replica {
                replica.followed.count(number);
            }
        }
        News::Over { sid } => shared.sessions.end_sid(&sid),
        News::Taken { sid } => {
            if let Some(session) = shared.sessions.by_sid(&sid) {
                session.general.let_go();
            }
        }
        News::Cancelled { sid, id } => {
            let (Some(session), Ok(id)) = (shared.sessions.by_sid(&sid), Raw::parse(id)) else { return };
            let mut params = RawObject::default();
            params.set("requestId", id);
            let message = envelope::notification(notification::CANCELLED, Some(&params.into_raw()));
            if let Ok(incoming) = envelope::parse(message) {
                session.session.receive_on(incoming, &(Arc::clone(&session.general) as Arc<dyn Outlet>));
            }
        }
    }
}

/// Tells the others of a call that is taken back and is none of those made here.
pub(super) fn tell_cancelled(incoming: &Incoming, session: &HttpSession, replica: &Replica) {
    let Incoming::One(Message::Notification { method, params }) = incoming else { return };
    if method.as_str() != notification::CANCELLED {
        return;
    }
    let id = params.as_ref().and_then(|params| Id::from_raw(&params.get("requestId")?));
    let (Some(id), Some(link), Some(sid)) = (id, replica.link(), &session.sid) else { return };
    let text = id.to_raw();
    if !session.session.is_in_flight(&id) && text.as_str().len() <= MAX_TEXT {
        let news = News::Cancelled { sid: sid.clone(), id: text.as_str().to_owned() };
        link.tell(news.encode(replica.number()));
    }
}

/// Returns what a message of the client changes for the other replicas, once it is granted.
pub(super) fn wish_of(incoming: &Incoming) -> Option<Note> {
    let Incoming::One(Message::Request { method, params: Some(params), .. }) = incoming else { return None };
    let text =
        |key: &str| Some(params.get(key)?.to_text()?.into_owned()).filter(|text| text.len() <= MAX_TEXT);
    match method.as_str() {
        "logging/setLevel" => text("level").map(Note::Level),
        "resources/subscribe" => text("uri").map(Note::Subscribed),
        "resources/unsubscribe" => text("uri").map(Note::Unsubscribed),
        _ => None,
    }
}

/// Notes what a client was granted, and tells the others.
pub(super) async fn note(note: Note, session: &HttpSession, replica: &Replica) {
    let (Some(link), Some(sid)) = (replica.link(), &session.sid) else { return };
    match &note {
        Note::Subscribed(uri) => session.session.note_subscription(uri, true),
        Note::Unsubscribed(uri) => session.session.note_subscription(uri, false),
        Note::Level(_) | Note::Over => {}
    }
    let number = replica.first_number();
    let news = News::Noted { sid: sid.clone(), number: Some(number) };
    match link.note(sid, note).await {
        Ok(()) => {
            let tell = || link.tell(news.encode(replica.number()));
            replica.followed.by(link.others(), number, tell).await;
        }
        Err(away) => debug!("a session's change stays here: {away}"),
    }
}

/// Says whether what came in was granted, as the answer passes.
struct Judging {
    to: Arc<dyn Outlet>,
    verdict: Mutex<Option<oneshot::Sender<bool>>>,
}

/// Returns a way for an answer that says by the other whether what was asked for was granted.
pub(super) fn judging(to: Arc<dyn Outlet>) -> (Arc<dyn Outlet>, oneshot::Receiver<bool>) {
    let (verdict, judged) = oneshot::channel();
    (Arc::new(Judging { to, verdict: Mutex::new(Some(verdict)) }), judged)
}

impl Outlet for Judging {
    fn answer(&self, message: Outgoing) {
        let answer = envelope::parse(message.clone().into_bytes());
        let outcome = |answer| match answer {
            Incoming::One(Message::Response { outcome, .. }) => Some(outcome),
            _ => None,
        };
        let is_granted = matches!(answer.ok().and_then(outcome), Some(Outcome::Result(_)));
        if let Some(verdict) = self.verdict.locked().take() {
            let _ = verdict.send(is_granted);
        }
        self.to.answer(message);
    }

    fn answer_busy(&self, message: Outgoing, retry_after_secs: u64) {
        self.to.answer_busy(message, retry_after_secs);
    }

    fn ask(&self, message: Bytes) {
        self.to.ask(message);
    }

    fn tell(&self, message: Bytes) {
        self.to.tell(message);
    }

    fn can_ask(&self) -> bool {
        self.to.can_ask()
    }

    fn release_connection(&self) {
        self.to.release_connection();
    }

    fn abandon(&self) {
        self.to.abandon();
    }
}
