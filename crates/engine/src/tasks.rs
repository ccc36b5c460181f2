//! Where every task is started, so that shutdown can wait for all of them.

use std::future::Future;

use tokio_util::task::TaskTracker;

/// Starts tasks and waits for them at the end. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
}

impl Tasks {
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a task. A panic inside ends that task alone.
    pub fn spawn<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tracker.spawn(task);
    }

    /// Starts a task that shutdown does not wait for: it only ever waits for news.
    pub fn spawn_background<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that says why a task is not waited for"
        )]
        tokio::spawn(task);
    }

    /// Waits until every task has ended.
    pub async fn finished(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}
