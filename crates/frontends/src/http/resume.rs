//! Streams that a client comes back for at another replica than it left.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manifold_protocol::{CodeSet, Fault, Id, Raw, envelope};
use tokio::time::sleep;
use tracing::{debug, info};

use super::sessions::{HttpSession, log_name};
use super::shared::Shared;
use super::stream::{Stream, entry_of};
use crate::replica::{Appended, Entry, Link, News, Replica};

/// How often is looked for more of a stream that another replica writes.
const LOOK: Duration = Duration::from_millis(100);

/// Takes over the session's own stream: who listened elsewhere no longer does, and what was said there and not heard is
/// said here.
pub(super) async fn take_over(session: &HttpSession, last_seen: Option<u64>, shared: &Shared) {
    let Some((replica, link, sid)) = linked(session, shared) else { return };
    link.tell(News::Taken { sid: sid.clone() }.encode(replica.number()));
    let name = log_name(sid, 0);
    let Ok(last) = link.last(&name).await else { return };
    if last == 0 || last == session.general.last_entry() {
        return;
    }
    let seen = last_seen.map_or(last, entry_of);
    let missed = if seen < last { link.read(&name, seen).await.unwrap_or_default() } else { Vec::new() };
    let event = |(_, entry)| match entry {
        Entry::Event(event) => Some(event),
        Entry::Opened(_) | Entry::Finished => None,
    };
    let missed: Vec<Bytes> = missed.into_iter().filter_map(event).collect();
    debug!(missed = missed.len(), "a session's own stream goes on here");
    session.general.go_on_after(last, missed);
}

/// Opens the answer to a call that another replica works on, or did until it was gone. `None` where nothing is known of it,
/// or not all.
pub(super) async fn follow(
    session: &Arc<HttpSession>,
    number: u64,
    last_seen: u64,
    shared: &Shared,
) -> Option<Arc<Stream>> {
    let (replica, link, sid) = linked(session, shared)?;
    let name = log_name(sid, number);
    let all = link.read(&name, 0).await.ok()?;
    let (_, Entry::Opened(answers)) = all.first()? else { return None };
    let last = all.last()?.0;
    let lives = Replica::of_number(number).is_some_and(|owner| link.address(owner).is_some());
    if entry_of(last_seen) > last && !lives {
        return None;
    }
    let answers = answers.clone();
    let stream = Stream::after(last_seen, number, &session.budget);
    let rest = all.into_iter().filter(|(entry, _)| *entry > entry_of(last_seen));
    let mut follower = Follower {
        stream: Arc::clone(&stream),
        name,
        answers,
        seen: entry_of(last_seen),
        codes: shared.site.codes,
    };
    if !follower.take(rest.collect()) {
        let (link, owner, me) = (Arc::clone(link), Replica::of_number(number), replica.number());
        replica.tasks.spawn_background(async move { follower.follow(&*link, owner, me).await });
    }
    Some(stream)
}

fn linked<'s>(
    session: &'s HttpSession,
    shared: &'s Shared,
) -> Option<(&'s Arc<Replica>, &'s Arc<dyn Link>, &'s String)> {
    let replica = shared.site.replica.as_ref()?;
    Some((replica, replica.link()?, session.sid.as_ref()?))
}

/// Brings what another replica writes to a stream of ours.
struct Follower {
    stream: Arc<Stream>,
    name: String,
    answers: String,
    /// The last entry that is here.
    seen: u64,
    codes: CodeSet,
}

impl Follower {
    /// Takes entries over; returns whether there will be no more.
    fn take(&mut self, entries: Vec<(u64, Entry)>) -> bool {
        for (number, entry) in entries {
            self.seen = number;
            match entry {
                Entry::Opened(_) => {}
                Entry::Event(event) => self.stream.push(event),
                Entry::Finished => {
                    self.stream.finish();
                    return true;
                }
            }
        }
        false
    }

    async fn follow(mut self, link: &dyn Link, owner: Option<u32>, me: u32) {
        loop {
            sleep(LOOK).await;
            if !self.stream.is_attached() {
                return;
            }
            let Ok(entries) = link.read(&self.name, self.seen).await else { continue };
            let is_quiet = entries.is_empty();
            if self.take(entries) {
                return;
            }
            let lives = owner.is_some_and(|owner| owner != me && link.address(owner).is_some());
            if is_quiet && !lives {
                self.conclude(link).await;
            }
        }
    }

    /// Answers in place of a replica that is gone. Who else comes back reads the same.
    async fn conclude(&self, link: &dyn Link) {
        info!("a call was in flight at a replica that is gone; its client is told");
        let ids = Raw::parse(self.answers.clone()).ok().and_then(|ids| ids.elements()).unwrap_or_default();
        let what = "the replica that made this call is gone; it may have been carried out";
        let error = Fault::Internal(what.to_owned()).to_error(self.codes);
        let answer = |id: &Raw| Entry::Event(envelope::error(Id::from_raw(id).as_ref(), &error));
        let entries = ids.iter().map(answer).chain([Entry::Finished]);
        for (number, entry) in (self.seen + 1..).zip(entries) {
            if link.append(&self.name, number, entry).await != Ok(Appended::Done) {
                return;
            }
        }
    }
}
