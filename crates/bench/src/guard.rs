//! The regression guard: what each part costs in instructions, beside what it cost when that was last written down.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::parts::{self, Part};

/// How far a part may be from its recorded figure, in percent.
pub const TOLERANCE: f64 = 3.0;

/// Instructions of one round of each part.
pub type Figures = BTreeMap<String, u64>;

/// The figures of each compiler and C library they were measured with.
pub type Records = BTreeMap<String, Figures>;

/// Counts the instructions of every part, on all cores.
pub fn measure() -> Result<Figures, Box<dyn Error>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut figures = Vec::new();
        while let Some(part) = parts::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            figures.push((part.name.to_owned(), per_round(part).map_err(|error| error.to_string())));
        }
        figures
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let measured = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    let figures: Figures =
        measured.into_iter().map(|(name, figure)| Ok((name, figure?))).collect::<Result<_, String>>()?;
    match figures.len() == parts::ALL.len() {
        true => Ok(figures),
        false => Err("a part was not measured".into()),
    }
}

/// Start and end of the program cancel out between a run and one twice as long.
fn per_round(part: &Part) -> Result<u64, Box<dyn Error>> {
    let short = instructions(part.name, part.rounds)?;
    let long = instructions(part.name, 2 * part.rounds)?;
    Ok(long.saturating_sub(short) / part.rounds)
}

/// Runs this very program again, under callgrind.
fn instructions(name: &str, rounds: u64) -> Result<u64, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["run", name, &rounds.to_string()])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    match collected {
        Some(count) if output.status.success() => Ok(count),
        _ => Err(format!("valgrind could not run `{name}`:\n{said}").into()),
    }
}

/// How one part stands.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// This many percent from the record, which is near enough.
    Near(f64),
    More(f64),
    /// Good, and to be written down, or the next one may lose it again unseen.
    Less(f64),
    Unrecorded,
    /// Recorded, but there is no such part any more.
    Gone,
}

impl Verdict {
    pub fn of(recorded: Option<u64>, measured: Option<u64>) -> Self {
        let (recorded, measured) = match (recorded, measured) {
            (Some(recorded), Some(measured)) => (recorded as f64, measured as f64),
            (None, _) => return Self::Unrecorded,
            (_, None) => return Self::Gone,
        };
        let percent = (measured - recorded) * 100.0 / recorded;
        match percent {
            _ if percent > TOLERANCE => Self::More(percent),
            _ if percent < -TOLERANCE => Self::Less(percent),
            _ => Self::Near(percent),
        }
    }

    pub fn passes(&self) -> bool {
        matches!(self, Self::Near(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Near(percent) => write!(f, "{percent:+.1} %"),
            Self::More(percent) => write!(f, "{percent:+.1} %: too many"),
            Self::Less(percent) => write!(f, "{percent:+.1} %: fewer, to be recorded"),
            Self::Unrecorded => f.write_str("not recorded yet"),
            Self::Gone => f.write_str("recorded, but gone"),
        }
    }
}

/// All parts beside their records, as a table.
pub struct Comparison {
    pub table: String,
    /// The lines of those that do not pass.
    pub off: Vec<String>,
}

pub fn compare(recorded: &Figures, measured: &Figures) -> Comparison {
    let mut table = format!("{:<34}{:>12}{:>12}\n", "instructions of one", "recorded", "now");
    let mut off = Vec::new();
    let gone = recorded.keys().filter(|name| !measured.contains_key(*name));
    for name in measured.keys().chain(gone) {
        let [before, now] = [recorded, measured].map(|figures| figures.get(name).copied());
        let verdict = Verdict::of(before, now);
        let show = |figure: Option<u64>| figure.map_or("-".to_owned(), |figure| figure.to_string());
        table += &format!("{name:<34}{:>12}{:>12}  {verdict}\n", show(before), show(now));
        if !verdict.passes() {
            off.push(format!("{name}: {verdict}"));
        }
    }
    Comparison { table, off }
}

/// Reads what was recorded; no file is no record.
pub fn read(path: &Path) -> Result<Records, Box<dyn Error>> {
    match std::fs::read(path) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Records::new()),
        Err(error) => Err(error.into()),
    }
}

pub fn write(path: &Path, records: &Records) -> Result<(), Box<dyn Error>> {
    let text = serde_json::to_string_pretty(records)?;
    Ok(std::fs::write(path, text + "\n")?)
}

#[cfg(test)]
mod tests;
