//! `cargo bench -p manifold-bench`: how long the parts take here and now. Times are noisy; `bench/guard` counts.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::error::Error;
use std::time::Duration;

use manifold_bench::parts;
use tokio::time::Instant;

const SAMPLES: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`; anything else picks parts by name.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    println!("{:<34}{:>12}{:>12}", "microseconds of one", "best", "median");
    for part in parts::ALL.iter().filter(|part| part.name.contains(&wanted)) {
        let time = |rounds| -> Result<Duration, Box<dyn Error>> {
            let start = Instant::now();
            part.run(rounds)?;
            Ok(start.elapsed())
        };
        let mut samples = Vec::with_capacity(SAMPLES);
        for _ in 0..SAMPLES {
            // As with instructions: setting up cancels out.
            let [short, long] = [time(part.rounds)?, time(3 * part.rounds)?];
            samples.push(long.saturating_sub(short).as_secs_f64() * 1e6 / (2 * part.rounds) as f64);
        }
        samples.sort_by(f64::total_cmp);
        println!("{:<34}{:>12.3}{:>12.3}", part.name, samples[0], samples[SAMPLES / 2]);
    }
    Ok(())
}
