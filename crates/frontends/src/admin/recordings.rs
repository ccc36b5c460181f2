//! Recordings of what passes: those there are, the beginning and end of one, and what is in it. Files are read and written
//! for each, and an end waits for the last line, so all of it is done beside the connections.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use manifold_admin::{CommandError, ErrorCode, RecordingStart};
use serde::Serialize;
use tokio::task::spawn_blocking;

use super::answer::{Answer, bytes, json};
use super::peer::Peer;
use super::request::{Asked, bad};
use super::{ControlledProgram, Office, audit};

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

/// Returns what is in one, which is what messages said.
pub(super) async fn export(office: &Office, peer: &Peer, asked: &Asked) -> Result<Answer, CommandError> {
    let format = asked.query.get("format").unwrap_or("json");
    let kind = match format {
        "har" | "json" => "application/json",
        "text" => "text/plain; charset=utf-8",
        _ => return Err(bad("`format` must be `har`, `text` or `json`")),
    };
    let text = office.program.export_recording(&asked.name, format).await?;
    audit::tell_of_bodies(office, peer, "record export", Some(&asked.name));
    let mut answer = bytes(StatusCode::OK, text.into());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(answer)
}
