//! Commands that the gateway runs for an operator who has no terminal: the program itself, as the user would start it, with
//! the gateway's own config and variables.

use std::process::Stdio;
use std::time::Duration;

use manifold_admin::{CommandError, ErrorBody, ErrorCode};
use manifold_config::LoadOptions;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::commands::config_args;

/// None takes longer: the slowest of them connects to a client's servers.
const PATIENCE: Duration = Duration::from_secs(120);

/// They change files one after the other.
static ONE: Semaphore = Semaphore::const_new(1);

/// So many may be under way or wait for their turn; whoever asks beyond that is told so at once.
const MAX_WAITING: usize = 8;
static PLACES: Semaphore = Semaphore::const_new(MAX_WAITING);

/// Runs a command and returns what it writes.
pub(super) async fn run(words: Vec<String>, options: LoadOptions) -> Result<Vec<u8>, CommandError> {
    let Ok(_place) = PLACES.try_acquire() else { return Err(busy()) };
    let failed = |why: String| CommandError::new(ErrorCode::Failed, format!("`{}`: {why}", words.join(" ")));
    let Some(program) = options.environment.program.clone() else {
        return Err(failed("the program is not known".to_owned()));
    };
    let mut command = Command::new(program);
    command
        .args(&words)
        .args(config_args(&options))
        .env_clear()
        .envs(&options.environment.vars)
        .current_dir(&options.environment.cwd)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let _turn = ONE.acquire().await;
    let output = match timeout(PATIENCE, command.output()).await {
        Ok(output) => output.map_err(|error| failed(error.to_string()))?,
        Err(_) => return Err(failed("it did not end".to_owned())),
    };
    // What it found is told whether that is good or bad; only who has nothing to tell has failed.
    if output.status.success() || !output.stdout.is_empty() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let told = said.lines().rev().find_map(|line| serde_json::from_str::<ErrorBody>(line).ok());
    Err(told.map_or_else(
        || failed(said.trim().to_owned()),
        |told| CommandError { code: known(told.error.code), ..told.error },
    ))
}

fn busy() -> CommandError {
    CommandError {
        hint: Some("wait until those are done, and ask again".to_owned()),
        ..CommandError::new(
            ErrorCode::Busy,
            format!("{MAX_WAITING} commands that change files are under way; no more is begun"),
        )
    }
}

/// A word that only commands have says no more than that it failed.
fn known(code: ErrorCode) -> ErrorCode {
    if code == ErrorCode::Other { ErrorCode::Failed } else { code }
}
