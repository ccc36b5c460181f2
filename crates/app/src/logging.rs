//! Logs: on standard error, and in a file where one is configured. Standard output is the protocol's.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Mutex;

use file_rotate::compression::Compression;
use file_rotate::suffix::AppendCount;
use file_rotate::{ContentLimit, FileRotate};
use manifold_config::{LogFormat, LogLevel, LogSettings};
use tracing::Level;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging. Returns what could not be set up: a log that fails never disturbs service.
pub(crate) fn start(settings: &LogSettings) -> Option<String> {
    let mut problem = None;
    let console = settings
        .console
        .then(|| layer(settings.format, io::stderr().is_terminal(), io::stderr as fn() -> io::Stderr));
    let file = settings.file.as_deref().and_then(|path| match rotating(path, settings) {
        Ok(writer) => Some(layer(settings.format, false, Mutex::new(writer))),
        Err(error) => {
            problem = Some(format!("{}: the log file cannot be written: {error}", path.display()));
            None
        }
    });
    let level = match settings.level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
    };
    let logs: Vec<_> = console.into_iter().chain(file).collect();
    // Another subscriber is only ever there in tests.
    let _ = tracing_subscriber::registry().with(LevelFilter::from_level(level)).with(logs).try_init();
    problem
}

type BoxedLayer = Box<
    dyn Layer<tracing_subscriber::layer::Layered<LevelFilter, tracing_subscriber::Registry>> + Send + Sync,
>;

fn layer<W>(format: LogFormat, colours: bool, writer: W) -> BoxedLayer
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let plain = tracing_subscriber::fmt::layer().with_ansi(colours).with_target(false).with_writer(writer);
    match format {
        LogFormat::Text => plain.boxed(),
        LogFormat::Json => plain.json().flatten_event(true).boxed(),
    }
}

fn rotating(path: &Path, settings: &LogSettings) -> io::Result<FileRotate<AppendCount>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // The crate itself panics where it cannot write; look first.
    std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    let bytes = usize::try_from(settings.max_size_bytes).unwrap_or(usize::MAX);
    let kept = AppendCount::new(settings.max_files.saturating_sub(1));
    Ok(FileRotate::new(path, kept, ContentLimit::BytesSurpassed(bytes), Compression::None, None))
}
