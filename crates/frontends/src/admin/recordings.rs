//! Recordings of what passes: those there are, and the beginning and end of one. Files are read and written for each, and
//! an end waits for the last line, so all of it is done beside the connections.

use std::sync::Arc;

use manifold_admin::{CommandError, ErrorCode, RecordingStart};
use serde::Serialize;
use tokio::task::spawn_blocking;

use super::answer::{Answer, json};
use super::request::Asked;
use super::{ControlledProgram, Office};

pub(super) async fn list(office: &Office) -> Result<Answer, CommandError> {
    beside(office, |program| program.recordings()).await
}

pub(super) async fn start(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let start: RecordingStart = asked.json()?;
    beside(office, move |program| program.start_recording(&start)).await
}

pub(super) async fn stop(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let name = asked.name.clone();
    beside(office, move |program| program.stop_recording(&name)).await
}

async fn beside<T: Serialize + Send + 'static>(
    office: &Office,
    what: impl FnOnce(&dyn ControlledProgram) -> Result<T, CommandError> + Send + 'static,
) -> Result<Answer, CommandError> {
    let program = Arc::clone(&office.program);
    let done = spawn_blocking(move || what(&*program)).await;
    let broken = |error| CommandError::new(ErrorCode::Failed, format!("the recorder broke: {error}"));
    done.map_err(broken)?.map(|it| json(&it))
}
