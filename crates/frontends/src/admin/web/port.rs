//! The port: open while there is a page, or a code that one may still come with.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use manifold_admin::Listener;
use manifold_engine::Lock as _;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, info, warn};

use super::super::Office;
use super::Pages;
use super::connection;
use super::neighbour::is_anothers;

/// A browser has six for each page it shows, and no person a hundred pages.
const MAX_CONNECTIONS: usize = 256;

/// How long is waited where no descriptor is left for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// How often what is kept of sessions is written down, where they are used.
const WRITE_EVERY: Duration = Duration::from_secs(30);

/// A port that is open.
pub(super) struct Port {
    pub(super) number: u16,
    /// Those who serve it end when this is gone.
    _open: watch::Sender<()>,
    /// A page that is not looked at reads nothing, and whoever comes back to it is served.
    _hold: Box<dyn Send + Sync>,
}

impl Port {
    /// Listens on this machine alone, where it is wanted or else where there is room, and serves who comes.
    pub(super) fn open(pages: &Arc<Pages>, office: &Office, wanted: Option<u16>) -> io::Result<Self> {
        let listener =
            std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, wanted.unwrap_or(0))))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let number = listener.local_addr()?.port();
        let (open, closed) = watch::channel(());
        pages.tasks.spawn_background(accept(listener, number, Arc::clone(pages), office.clone(), closed));
        pages.tasks.spawn_background(watch_ends(Arc::downgrade(pages), number));
        info!("the page is at http://127.0.0.1:{number}/ui/");
        Ok(Self { number, _open: open, _hold: office.program.hold() })
    }
}

async fn accept(
    listener: TcpListener,
    port: u16,
    pages: Arc<Pages>,
    office: Office,
    mut closed: watch::Receiver<()>,
) {
    let _listening = office.control.listening(Listener {
        transport: "http".to_owned(),
        address: Some(format!("127.0.0.1:{port}")),
        needs_token: true,
    });
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            _ = closed.changed() => return,
            accepted = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (listener.accept().await, place)
            } => accepted,
        };
        match accepted {
            (Ok((stream, address)), Ok(place)) => {
                if is_anothers(address, port) {
                    warn!("another user's connection to the page was refused");
                    continue;
                }
                let _ = stream.set_nodelay(true);
                let served =
                    connection::serve(stream, port, Arc::clone(&pages), office.clone(), closed.clone());
                pages.tasks.spawn_background(async move {
                    served.await;
                    drop(place);
                });
            }
            (Ok(_), Err(_)) => return,
            (Err(error), _) => {
                debug!("the page cannot be reached: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Closes the port once nobody may come any more, and writes down until then by what its pages are known.
async fn watch_ends(pages: Weak<Pages>, port: u16) {
    loop {
        let (next, changed) = {
            let Some(pages) = pages.upgrade() else { return };
            let mut state = pages.state.locked();
            if state.port.as_ref().is_none_or(|open| open.number != port) {
                return;
            }
            let now = Instant::now();
            state.sessions.forget(now);
            pages.write(&mut state, now);
            if state.sessions.is_over(now) {
                info!("the page's port is closed: nobody looks");
                state.port = None;
                return;
            }
            let latest = now + WRITE_EVERY;
            let next = state.sessions.next_end().map_or(latest, |end| end.min(latest));
            (next, Arc::clone(&pages.changed))
        };
        tokio::select! {
            () = sleep_until(next) => {}
            () = changed.notified() => {}
        }
    }
}
