//! What happens, followed for as long as anybody looks: a connection that is lost is opened again.

use std::thread;
use std::time::Duration;

use manifold_admin::{About, Happening, Method, Snapshot, StreamItem};
use manifold_admin_client::{Client, ClientError};

use super::Asker;
use crate::effect::News;

/// How long a gateway may take to answer at all.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long it is waited before each attempt; from then on as long as before the last.
const PAUSES_MS: [u64; 4] = [100, 200, 500, 1000];

const EVENTS: &str = "/v1/events?topics=server,catalog,client,config,daemon,recording,call,log";

pub(super) fn run(asker: &Asker) {
    let mut attempts = 0;
    loop {
        let (was_connected, why) = follow(asker);
        if asker.gateway.strong_count() == 0 {
            return;
        }
        attempts = if was_connected { 0 } else { attempts + 1 };
        let retry_ms = PAUSES_MS[attempts.min(PAUSES_MS.len() - 1)];
        if !asker.tell(News::Lost { why, retry_ms }) {
            return;
        }
        thread::sleep(Duration::from_millis(retry_ms));
    }
}

/// Follows one connection to its end. Returns whether there was one, and why it ended.
fn follow(asker: &Asker) -> (bool, String) {
    let mut was_connected = false;
    let end = match read(asker, &mut was_connected) {
        Ok(()) => "the gateway has ended the connection".to_owned(),
        Err(error) => error.to_string(),
    };
    (was_connected, end)
}

fn read(asker: &Asker, was_connected: &mut bool) -> Result<(), ClientError> {
    let events = asker.client(PATIENCE)?.events(Method::Get, EVENTS, None::<&()>)?;
    for event in events {
        let event = event?;
        let news = match serde_json::from_str(&event.data) {
            // From here on nothing is missed: what the snapshot has already is only told again.
            Ok(StreamItem::Cursor { .. }) => {
                let news = snapshot_of(asker)(asker.client(PATIENCE)?)?;
                *was_connected = true;
                news
            }
            Ok(StreamItem::Event(event)) if event.happening != Happening::Other => {
                News::Event(Box::new(event))
            }
            _ => continue,
        };
        if !asker.tell(news) {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads everything there is to see.
pub(super) fn snapshot_of(asker: &Asker) -> impl FnOnce(Client) -> Result<News, ClientError> + '_ {
    |client| {
        let about: About = client.get("/v1/about")?;
        let snapshot: Snapshot = asker.client(PATIENCE)?.get("/v1/snapshot")?;
        Ok(News::Connected { about: Box::new(about), snapshot: Box::new(snapshot) })
    }
}
