//! Streams that a client comes back for at another replica than it left.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manifold_protocol::{CodeSet, Fault, Id, Raw, envelope};
use tokio::time::{Instant, sleep};
use tracing::{debug, info};

use super::sessions::{HttpSession, log_name};
use super::shared::Shared;
use super::stream::{Stream, entry_of};
use crate::replica::{Appended, Away, Entry, Link, News, Replica};

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
    let missed =
        if seen < last { read_all(&**link, &name, seen).await.unwrap_or_default() } else { Vec::new() };
    let event = |(_, entry)| match entry {
        Entry::Event(event) => Some(event),
        Entry::Opened(_) | Entry::Finished | Entry::Broken => None,
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
    let asked = Instant::now();
    let (replica, link, sid) = linked(session, shared)?;
    let owner = Replica::of_number(number)?;
    let name = log_name(sid, number);
    let answers = link.opened(&name).await.ok()??;
    let (seen, last) = (entry_of(last_seen), link.last(&name).await.ok()?);
    if seen > last && link.is_gone(owner, asked) {
        return None;
    }
    let rest = read_all(&**link, &name, seen).await.ok()?;
    let stream = Stream::after(last_seen, number, &session.budget);
    let codes = shared.site.codes;
    let mut follower = Follower { stream: Arc::clone(&stream), name, answers, seen, codes };
    match follower.take(rest) {
        Taken::All => {}
        Taken::NotAll => follower.give_up(),
        // We were its owner, and have forgotten it.
        Taken::SoFar if owner == replica.number() => return None,
        Taken::SoFar => {
            let link = Arc::clone(link);
            replica.tasks.spawn_background(async move { follower.follow(&*link, owner, asked).await });
        }
    }
    Some(stream)
}

/// Reads all entries after a number that there are now.
async fn read_all(link: &dyn Link, name: &str, mut after: u64) -> Result<Vec<(u64, Entry)>, Away> {
    let mut all = Vec::new();
    loop {
        let some = link.read(name, after).await?;
        let Some((last, _)) = some.last() else { return Ok(all) };
        after = *last;
        all.extend(some);
    }
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

/// What came of entries that were read.
enum Taken {
    /// There will be no more.
    All,
    SoFar,
    /// Something is missing.
    NotAll,
}

impl Follower {
    /// Takes entries over.
    fn take(&mut self, entries: Vec<(u64, Entry)>) -> Taken {
        for (number, entry) in entries {
            if number != self.seen + 1 {
                return Taken::NotAll;
            }
            match entry {
                Entry::Opened(_) => {}
                Entry::Event(event) => self.stream.push(event),
                Entry::Finished => {
                    self.stream.finish();
                    return Taken::All;
                }
                Entry::Broken => return Taken::NotAll,
            }
            self.seen = number;
        }
        Taken::SoFar
    }

    async fn follow(mut self, link: &dyn Link, owner: u32, asked: Instant) {
        loop {
            sleep(LOOK).await;
            if !self.stream.is_attached() {
                return;
            }
            let Ok(entries) = link.read(&self.name, self.seen).await else { continue };
            let is_quiet = entries.is_empty();
            match self.take(entries) {
                Taken::All => return,
                // Its client comes back for the rest, which its owner may have.
                Taken::NotAll => return self.stream.let_go(),
                Taken::SoFar if is_quiet && link.is_gone(owner, asked) => self.conclude(link).await,
                Taken::SoFar => {}
            }
        }
    }

    /// Answers in place of a replica that is gone. Who else comes back reads the same.
    async fn conclude(&self, link: &dyn Link) {
        info!("a call was in flight at a replica that is gone; its client is told");
        let errors = self.errors("the replica that made this call is gone; it may have been carried out");
        let entries = errors.into_iter().map(Entry::Event).chain([Entry::Finished]);
        for (number, entry) in (self.seen + 1..).zip(entries) {
            if link.append(&self.name, number, 0, entry).await != Ok(Appended::Done) {
                return;
            }
        }
    }

    /// Answers where the rest is not to be had: a client that heard nothing would wait for it.
    fn give_up(&self) {
        info!("not all that was said on a stream can be had here; its client is told");
        let why = "not all that was said of this call can be had here; it may have been carried out";
        for error in self.errors(why) {
            self.stream.push(error);
        }
        self.stream.finish();
    }

    /// Returns an answer to each request that the stream is for.
    fn errors(&self, why: &str) -> Vec<Bytes> {
        let ids = Raw::parse(self.answers.clone()).ok().and_then(|ids| ids.elements()).unwrap_or_default();
        let error = Fault::Internal(why.to_owned()).to_error(self.codes);
        ids.iter().map(|id| envelope::error(Id::from_raw(id).as_ref(), &error)).collect()
    }
}

#[cfg(test)]
mod tests;
