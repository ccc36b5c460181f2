//! The stream of frames, for as long as they are looked at.

use std::sync::PoisonError;
use std::time::Duration;

use manifold_admin::Method;
use manifold_admin_client::{ClientError, query};

use super::{Asker, Stoppers, told};
use crate::effect::{Frames, News};

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(asker: &Asker, run: u64, filter: &str, stoppers: &Stoppers) {
    let last = match read(asker, run, filter, stoppers) {
        Ok(()) => Frames::Ended,
        Err(ClientError::Refused { status: 404 | 405 | 501, .. }) => Frames::Missing,
        Err(error @ ClientError::Refused { .. }) => Frames::Refused(told(error).to_string()),
        // That the gateway is gone is told by those who follow it.
        Err(_) => Frames::Ended,
    };
    asker.tell(News::Traffic { run, item: last });
}

fn read(asker: &Asker, run: u64, filter: &str, stoppers: &Stoppers) -> Result<(), ClientError> {
    let filter = Some(filter).filter(|filter| !filter.is_empty());
    // What was seen under another filter is seen under this one, as far as it fits and is still known.
    let asked = [("filter", filter), ("bodies", Some("1")), ("past", Some("1"))];
    let path = format!("/v1/traffic{}", query(&asked));
    let events = asker.client(PATIENCE)?.events(Method::Get, &path, None::<&()>)?;
    stoppers.lock().unwrap_or_else(PoisonError::into_inner).insert(0, events.stopper());
    if !asker.tell(News::Traffic { run, item: Frames::Open }) {
        return Ok(());
    }
    for event in events {
        let event = event?;
        // A stream also says where it begins.
        if !matches!(event.event.as_str(), "frame" | "gap") {
            continue;
        }
        let Ok(item) = serde_json::from_str(&event.data) else { continue };
        if !asker.tell(News::Traffic { run, item: Frames::Item(item) }) {
            return Ok(());
        }
    }
    Ok(())
}
