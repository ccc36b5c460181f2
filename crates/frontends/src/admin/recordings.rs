//! Recordings of what passes: those there are, and the beginning and end of one.

use manifold_admin::{CommandError, RecordingStart};

use super::Office;
use super::answer::{Answer, json};
use super::request::Asked;

pub(super) fn list(office: &Office) -> Result<Answer, CommandError> {
    office.program.recordings().map(|recordings| json(&recordings))
}

pub(super) fn start(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let start: RecordingStart = asked.json()?;
    office.program.start_recording(&start).map(|recording| json(&recording))
}

pub(super) fn stop(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    office.program.stop_recording(&asked.name).map(|recording| json(&recording))
}
