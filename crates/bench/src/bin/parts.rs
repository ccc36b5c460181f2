//! Runs one part, or counts the instructions of all and judges them (`bench/guard` does).
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use manifold_bench::{guard, parts};

#[derive(Parser)]
enum Order {
    /// Does one part so often.
    Run { name: String, rounds: u64 },
    /// Counts all parts under valgrind and compares.
    Guard {
        /// The file with the recorded figures.
        #[arg(long)]
        file: PathBuf,
        /// Compiler and C library.
        #[arg(long)]
        key: String,
        /// Where figures go that have no record to be compared with.
        #[arg(long)]
        fresh: PathBuf,
        /// Write down what is measured as the new record.
        #[arg(long)]
        record: bool,
    },
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    match Order::parse() {
        Order::Run { name, rounds } => {
            let mut all = parts::ALL.iter().chain(&parts::UNGUARDED);
            let part = all.find(|part| part.name == name);
            part.ok_or_else(|| format!("there is no part `{name}`"))?.run(rounds)?;
            Ok(ExitCode::SUCCESS)
        }
        Order::Guard { file, key, fresh, record } => {
            let mut records = guard::read(&file)?;
            let measured = guard::measure()?;
            let known = records.get(&key);
            let comparison = guard::compare(known.unwrap_or(&measured), &measured);
            println!("{key}\n{}", comparison.table);
            if record {
                records.insert(key, measured);
                guard::write(&file, &records)?;
                println!("recorded in {}", file.display());
            } else if known.is_none() {
                records.insert(key, measured);
                guard::write(&fresh, &records)?;
                println!(
                    "warning: nothing is recorded for this compiler and C library, so nothing was compared. The \
                     figures are in {}; `bench/guard --record` takes them over.",
                    fresh.display()
                );
            } else if !comparison.off.is_empty() {
                println!("more than {} % from what was recorded:", guard::TOLERANCE);
                comparison.off.iter().for_each(|line| println!("  {line}"));
                println!("Where that is meant, `bench/guard --record` writes the new figures down.");
                return Ok(ExitCode::FAILURE);
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}
