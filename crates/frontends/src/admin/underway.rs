//! What operators have asked of servers and wait for. Whoever ends the program lets it come to its end, as it does for
//! clients.

use std::sync::Arc;
use std::time::Duration;

use manifold_admin::{CommandError, ErrorCode};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long those who are told that nothing more comes may take to hear it.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// All that is under way.
#[derive(Debug, Default)]
pub(super) struct Underway {
    count: watch::Sender<usize>,
    stage: watch::Sender<Stage>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Open,
    /// Nothing new is begun.
    Closed,
    /// Nothing more is waited for.
    CutOff,
}

/// One thing that was asked; it is under way for as long as this lives.
#[derive(Debug)]
pub(super) struct Ask(Arc<Underway>);

impl Underway {
    /// Begins something, unless the program is about to end.
    pub(super) fn begin(self: &Arc<Self>) -> Result<Ask, CommandError> {
        self.count.send_modify(|count| *count += 1);
        // Whoever closes looks at the number after that: it sees this one, or this one sees that it is closed.
        let ask = Ask(Arc::clone(self));
        match *self.stage.borrow() {
            Stage::Open => Ok(ask),
            Stage::Closed | Stage::CutOff => Err(not_begun()),
        }
    }

    /// Waits until nothing is under way, at most so long. New things may begin.
    pub(super) async fn settled(&self, patience: Duration) {
        let _ = timeout(patience, self.count.subscribe().wait_for(|count| *count == 0)).await;
    }

    /// Begins nothing new, waits so long for what is under way, and tells the rest that it is given up.
    pub(super) async fn close(&self, patience: Duration) {
        self.enter(Stage::Closed);
        self.settled(patience).await;
        self.enter(Stage::CutOff);
        self.settled(LAST_WORDS).await;
    }

    fn enter(&self, next: Stage) {
        self.stage.send_modify(|stage| *stage = next.max(*stage));
    }
}

impl Ask {
    /// Resolves when nobody waits for it any more.
    pub(super) async fn cut_off(&self) {
        if self.0.stage.subscribe().wait_for(|stage| *stage == Stage::CutOff).await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for Ask {
    fn drop(&mut self) {
        self.0.count.send_modify(|count| *count -= 1);
    }
}

/// Returns what is said of something that was not handed to a server.
pub(super) fn not_begun() -> CommandError {
    CommandError {
        hint: Some("ask again in a moment".to_owned()),
        ..CommandError::new(ErrorCode::ShuttingDown, "the gateway is about to end; nothing was called")
    }
}

/// Returns what is said of something that a server had in its hands.
pub(super) fn given_up() -> CommandError {
    CommandError {
        hint: Some("see what it did before you call again".to_owned()),
        ..CommandError::new(
            ErrorCode::ShuttingDown,
            "the gateway ended before the server had answered; the call may have run",
        )
    }
}
