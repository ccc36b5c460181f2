//! Server-sent events, as they come.

use crate::response::Response;
use crate::{ClientError, MAX_ANSWER_BYTES, Stopper};

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Where to go on after it.
    pub id: Option<String>,
    pub event: String,
    pub data: String,
}

/// The events of an answer, to its end. After an error there are no more.
#[derive(Debug)]
pub struct EventStream {
    response: Response,
    stopper: Stopper,
    /// What has come of a line that has not ended.
    line: Vec<u8>,
    has_ended: bool,
}

impl EventStream {
    pub(crate) fn new(response: Response, stopper: Stopper) -> Self {
        Self { response, stopper, line: Vec::new(), has_ended: false }
    }

    /// Returns what ends the stream from another thread or from a signal's.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Returns whether something of the next event has come already.
    pub fn has_more(&self) -> bool {
        self.response.has_more()
    }

    fn read(&mut self) -> Result<Option<SseEvent>, ClientError> {
        let (mut event, mut has_data) = (SseEvent::default(), false);
        while let Some(line) = self.next_line(event.data.len())? {
            if line.is_empty() {
                if !has_data {
                    event = SseEvent::default();
                    continue;
                }
                if event.event.is_empty() {
                    "message".clone_into(&mut event.event);
                }
                return Ok(Some(event));
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => event.id = Some(value.to_owned()),
                "event" => value.clone_into(&mut event.event),
                "data" => {
                    if has_data {
                        event.data.push('\n');
                    }
                    event.data.push_str(value);
                    has_data = true;
                }
                // A comment keeps the connection alive, and when to come again is ours to know.
                _ => {}
            }
        }
        // What was not ended by an empty line is no event.
        Ok(None)
    }

    /// Reads a line, however long it takes to come; `None`: the stream has ended.
    fn next_line(&mut self, held: usize) -> Result<Option<String>, ClientError> {
        loop {
            let part = self.response.part()?;
            if part.is_empty() {
                return Ok(None);
            }
            let end = part.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(part.len(), |end| end + 1);
            self.line.extend_from_slice(&part[..end.unwrap_or(count)]);
            self.response.consume(count);
            if self.line.len() + held > MAX_ANSWER_BYTES {
                return Err(ClientError::NoDaemon);
            }
            if end.is_some() {
                let mut line = std::mem::take(&mut self.line);
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return String::from_utf8(line).map(Some).map_err(|_| ClientError::NoDaemon);
            }
        }
    }
}

impl Iterator for EventStream {
    type Item = Result<SseEvent, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let read = self.read().transpose();
        self.has_ended = !matches!(read, Some(Ok(_)));
        read
    }
}
