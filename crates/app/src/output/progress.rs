//! That something is waited for, shown on standard error while somebody looks.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::escaped_line;

/// Shorter waits are not worth a word.
const TICK: Duration = Duration::from_millis(120);

/// Gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    pub(super) fn start(what: &str, is_watched: bool) -> Self {
        if !is_watched {
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::default_spinner());
        bar.set_message(escaped_line(what).into_owned());
        bar.enable_steady_tick(TICK);
        Self(Some(bar))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
