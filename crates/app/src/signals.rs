//! The signals that end us.

use std::io;

use manifold_engine::Tasks;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

use crate::logging;

/// Returns a watch that turns true with the first SIGINT, SIGTERM or SIGHUP. The second ends the process at once;
/// the guard sees to its children.
pub(crate) fn watch_signals(tasks: &Tasks) -> io::Result<watch::Receiver<bool>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let (sender, receiver) = watch::channel(false);
    tasks.spawn_background(async move {
        loop {
            let name = tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
                _ = hang_up.recv() => "SIGHUP",
            };
            info!("{name}");
            if sender.send_replace(true) {
                logging::flush_at_once();
                std::process::exit(1);
            }
        }
    });
    Ok(receiver)
}

/// Resolves when we have been asked to stop.
pub(crate) async fn asked(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|asked| *asked).await;
}
