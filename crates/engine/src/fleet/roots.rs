//! The roots of all who share a server.

use std::time::Duration;

use manifold_protocol::{Raw, RawObject, Reply};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// How long clients may take to tell their roots.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many roots a server is told of.
const MAX_ROOTS: usize = 1024;

/// Returns the roots that clients answer with, each once; `None` where no client tells any.
pub(super) async fn of_all(asked: Vec<oneshot::Receiver<Reply>>) -> Option<Raw> {
    let deadline = Instant::now() + PATIENCE;
    let mut roots: Vec<Raw> = Vec::new();
    let mut has_answer = false;
    for answer in asked {
        let Ok(Ok(Ok(answer))) = timeout_at(deadline, answer).await else { continue };
        let Some(told) = answer.plain().get("roots").and_then(|roots| roots.elements()) else { continue };
        has_answer = true;
        for root in told.into_iter().take(MAX_ROOTS - roots.len()) {
            if !roots.contains(&root) {
                roots.push(root.detached());
            }
        }
    }
    has_answer.then(|| {
        let mut result = RawObject::default();
        result.set("roots", Raw::array(&roots));
        result.into_raw()
    })
}
