//! Logs: on standard error, and in a file where one is configured. Standard output is the protocol's.

mod queue;
mod rotating;

use std::io::{self, IsTerminal};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use manifold_config::{LogFormat, LogLevel, LogSettings};
use tracing::Level;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub(crate) use queue::{Patience, Queue};
pub(crate) use rotating::RotatingFile;

/// How long the last lines may take to be written when we leave in good order.
const LAST_WORDS: Patience = Patience { stalled: Duration::from_millis(500), total: Duration::from_secs(1) };
/// How long when we are to end at once.
const LAST_BREATH: Patience =
    Patience { stalled: Duration::from_millis(50), total: Duration::from_millis(100) };

/// How the names of our crates begin.
const OURS: &str = "manifold";

/// The logs of this process.
static QUEUES: OnceLock<Vec<Arc<Queue>>> = OnceLock::new();

/// Starts logging. Returns what could not be set up: a log that fails never disturbs service.
pub(crate) fn start(settings: &LogSettings) -> Option<String> {
    let mut problem = None;
    let mut queues = Vec::new();
    let mut layers = Vec::new();
    if settings.console
        && let Ok(queue) = Queue::start("standard error", io::stderr())
    {
        layers.push(layer(settings.format, io::stderr().is_terminal(), &queue));
        queues.push(queue);
    }
    if let Some(path) = settings.file.as_deref() {
        let started = RotatingFile::open(path, settings.max_size_bytes, settings.max_files)
            .and_then(|file| Queue::start(&path.display().to_string(), file));
        match started {
            Ok(queue) => {
                layers.push(layer(settings.format, false, &queue));
                queues.push(queue);
            }
            Err(error) => {
                problem = Some(format!("{}: the log file cannot be written: {error}", path.display()));
            }
        }
    }
    let level = match settings.level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Trace => Level::TRACE,
    };
    // Another subscriber is only ever there in tests.
    let _ = tracing_subscriber::registry().with(filter(level)).with(layers).try_init();
    let _ = QUEUES.set(queues);
    problem
}

/// Returns how many lines of the logs were not written.
pub(crate) fn lost() -> u64 {
    QUEUES.get().into_iter().flatten().map(|queue| queue.lost()).sum()
}

/// Has the logs write what is waiting: the process is about to end.
pub(crate) fn flush() {
    flush_within(LAST_WORDS);
}

/// Gives the logs a moment to write what is waiting: the process must end at once.
pub(crate) fn flush_at_once() {
    flush_within(LAST_BREATH);
}

fn flush_within(patience: Patience) {
    for queue in QUEUES.get().into_iter().flatten() {
        queue.flush(patience);
    }
}

/// Returns what is logged. Of what libraries say only the serious part is: in their details are the bytes that pass
/// through them, secrets among them.
fn filter(level: Level) -> Targets {
    Targets::new().with_default(level.min(Level::INFO)).with_target(OURS, level)
}

type BoxedLayer =
    Box<dyn Layer<tracing_subscriber::layer::Layered<Targets, tracing_subscriber::Registry>> + Send + Sync>;

fn layer(format: LogFormat, colours: bool, queue: &Arc<Queue>) -> BoxedLayer {
    let writer = Arc::clone(queue);
    let plain = tracing_subscriber::fmt::layer().with_ansi(colours).with_target(false).with_writer(writer);
    match format {
        LogFormat::Text => plain.boxed(),
        LogFormat::Json => plain.json().flatten_event(true).boxed(),
    }
}
