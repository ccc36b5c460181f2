//! What replicas tell each other of sessions, and what is noted of them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manifold_protocol::envelope::{self, Incoming, Message};
use manifold_protocol::{Id, Raw, notification};
use tokio::time::interval;
use tracing::debug;

use super::sessions::HttpSession;
use super::shared::Shared;
use crate::replica::{Link, News, Note, Replica};
use crate::session::Outlet;

/// How often is said which sessions are in use.
const USED_EVERY: Duration = Duration::from_secs(60);

/// Listens to the other replicas, and tells them which sessions are in use, for as long as it is polled.
pub(super) async fn keep(shared: Arc<Shared>) {
    let Some(replica) = shared.site.replica.clone() else { return };
    let Some(link) = replica.link().cloned() else { return };
    let (listening, me) = (Arc::downgrade(&shared), replica.number());
    link.listen(Box::new(move |text| {
        if let (Some(shared), Some(news)) = (listening.upgrade(), News::read(text, me)) {
            hear(news, &shared);
        }
    }));
    let mut ticks = interval(USED_EVERY);
    loop {
        ticks.tick().await;
        let used = shared.sessions.used_within(USED_EVERY);
        if !used.is_empty() {
            link.used(used).await;
        }
    }
}

fn hear(news: News, shared: &Arc<Shared>) {
    match news {
        News::Noted { sid } => {
            let (Some(session), Some(replica)) = (shared.sessions.by_sid(&sid), &shared.site.replica) else {
                return;
            };
            let Some(link) = replica.link().cloned() else { return };
            replica.tasks.spawn_background(async move {
                if let Ok(notes) = link.session(&sid).await {
                    session.session.recall(&notes);
                }
            });
        }
        News::Over { sid } => shared.sessions.end_sid(&sid),
        News::Taken { sid } => {
            if let Some(session) = shared.sessions.by_sid(&sid) {
                session.general.let_go();
            }
        }
        News::Cancelled { sid, message } => {
            let Some(session) = shared.sessions.by_sid(&sid) else { return };
            if let Ok(incoming) = envelope::parse(Bytes::from(message)) {
                session.session.receive_on(incoming, &(Arc::clone(&session.general) as Arc<dyn Outlet>));
            }
        }
    }
}

/// Tells the others what a message of the client changes for them, and notes it.
pub(super) async fn tell(message: &Bytes, incoming: &Incoming, session: &HttpSession, replica: &Replica) {
    let (Some(link), Some(sid)) = (replica.link(), &session.sid) else { return };
    let text = |params: &Option<Raw>, key: &str| {
        params.as_ref().and_then(|params| Some(params.get(key)?.to_text()?.into_owned()))
    };
    let noted = match incoming {
        Incoming::One(Message::Request { method, params, .. }) => match method.as_str() {
            "logging/setLevel" => text(params, "level").map(Note::Level),
            "resources/subscribe" => text(params, "uri").map(Note::Subscribed),
            "resources/unsubscribe" => text(params, "uri").map(Note::Unsubscribed),
            _ => None,
        },
        Incoming::One(Message::Notification { method, params })
            if method.as_str() == notification::CANCELLED =>
        {
            let id = params.as_ref().and_then(|params| Id::from_raw(&params.get("requestId")?));
            if id.is_some_and(|id| !session.session.is_in_flight(&id))
                && let Ok(message) = std::str::from_utf8(message)
            {
                let news = News::Cancelled { sid: sid.clone(), message: message.to_owned() };
                link.tell(news.encode(replica.number()));
            }
            None
        }
        _ => None,
    };
    let Some(note) = noted else { return };
    match &note {
        Note::Subscribed(uri) => session.session.note_subscription(uri, true),
        Note::Unsubscribed(uri) => session.session.note_subscription(uri, false),
        Note::Level(_) | Note::Over => {}
    }
    write(&**link, sid, note, News::Noted { sid: sid.clone() }, replica).await;
}

/// Tells the others that a session is over.
pub(super) async fn over(session: &HttpSession, replica: &Replica) {
    if let (Some(link), Some(sid)) = (replica.link(), &session.sid) {
        write(&**link, sid, Note::Over, News::Over { sid: sid.clone() }, replica).await;
    }
}

async fn write(link: &dyn Link, sid: &str, note: Note, news: News, replica: &Replica) {
    match link.note(sid, note).await {
        Ok(()) => link.tell(news.encode(replica.number())),
        Err(away) => debug!("a session's change stays here: {away}"),
    }
}
