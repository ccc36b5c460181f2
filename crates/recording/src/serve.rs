//! A recording on a pair of streams: the loop of a server that speaks newline-framed MCP.

use std::io::{self, BufRead, Write};

use serde_json::value::RawValue;

use crate::message::{Message, quoted};
use crate::playback::eras::{REVISION, VERSION, version_of};
use crate::playback::{Playback, Step};

/// Requests that come while a question is open are answered at once; so many of them may ask something themselves.
const MAX_DEPTH: usize = 16;

/// Answers requests until the input ends.
pub fn serve(playback: &mut Playback, input: impl BufRead, output: impl Write) -> io::Result<()> {
    let mut server = Server { playback, lines: input.lines(), output, questions: 0 };
    while let Some(line) = server.lines.next() {
        server.take(&line?, 0)?;
    }
    Ok(())
}

struct Server<'p, R, W> {
    playback: &'p mut Playback,
    lines: io::Lines<R>,
    output: W,
    questions: u64,
}

impl<R: BufRead, W: Write> Server<'_, R, W> {
    fn take(&mut self, line: &str, depth: usize) -> io::Result<()> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let Some(message) = Message::parse(line) else {
            return self.send(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is no JSON-RPC message"}}"#);
        };
        // Answers to questions that are over, and notifications, need nothing.
        let (Some(id), Some(method)) = (message.id, message.method.as_deref()) else { return Ok(()) };
        if let Some(version) = version_of(message.params).filter(|version| version != REVISION) {
            let data = format!(r#"{{"supported":[{}],"requested":{}}}"#, quoted(REVISION), quoted(&version));
            let error =
                format!(r#"{{"code":-32022,"message":"Unsupported protocol version","data":{data}}}"#);
            return self.fail(id, &error);
        }
        if method == "subscriptions/listen" {
            return self.acknowledge(id, message.params);
        }
        for step in self.playback.steps(method, message.params) {
            match step {
                Step::Wait(time) => std::thread::sleep(time),
                Step::Notify { method, params } => {
                    self.send(&said(None, &method, params.as_deref()))?;
                }
                Step::Ask { method, params } => {
                    if depth < MAX_DEPTH && !self.ask(&method, params.as_deref(), id, depth)? {
                        return Ok(());
                    }
                }
                Step::Answer(result) => {
                    self.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get()))?;
                }
                Step::Fail(error) => self.fail(id, &error)?,
            }
        }
        Ok(())
    }

    /// Asks a question and waits for its answer. Returns whether the call goes on: not once it is cancelled.
    fn ask(&mut self, method: &str, params: Option<&str>, call: &RawValue, depth: usize) -> io::Result<bool> {
        self.questions += 1;
        let id = quoted(&format!("replay-{}", self.questions));
        self.send(&said(Some(&id), method, params))?;
        while let Some(line) = self.lines.next() {
            let line = line?;
            let message = Message::parse(&line).unwrap_or_default();
            match (message.id, message.method.as_deref()) {
                (Some(answered), None) if answered.get() == id => return Ok(true),
                (None, Some("notifications/cancelled")) if cancels(message.params, call) => return Ok(false),
                _ => self.take(&line, depth + 1)?,
            }
        }
        Ok(false)
    }

    /// Who listens for changes is told that it is heard; nothing changes in a recording.
    fn acknowledge(&mut self, id: &RawValue, params: Option<&RawValue>) -> io::Result<()> {
        #[derive(serde::Deserialize)]
        struct Listen<'a> {
            #[serde(borrow)]
            notifications: Option<&'a RawValue>,
        }
        let wanted = params.and_then(|params| serde_json::from_str::<Listen<'_>>(params.get()).ok());
        let wanted = wanted.and_then(|listen| listen.notifications).map_or("{}", RawValue::get);
        let mark = VERSION.replace("protocolVersion", "subscriptionId");
        let params = format!(r#"{{"notifications":{wanted},"_meta":{{{}:{}}}}}"#, quoted(&mark), id.get());
        self.send(&said(None, "notifications/subscriptions/acknowledged", Some(&params)))
    }

    fn fail(&mut self, id: &RawValue, error: &str) -> io::Result<()> {
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.get()))
    }

    fn send(&mut self, message: &str) -> io::Result<()> {
        // A message that was recorded over HTTP may have line ends; between its tokens they are blanks.
        let message = message.replace(['\n', '\r'], " ");
        writeln!(self.output, "{message}")?;
        self.output.flush()
    }
}

fn said(id: Option<&str>, method: &str, params: Option<&str>) -> String {
    let id = id.map(|id| format!(r#","id":{id}"#)).unwrap_or_default();
    let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0"{id},"method":{}{params}}}"#, quoted(method))
}

fn cancels(params: Option<&RawValue>, call: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancelled<'a> {
        #[serde(borrow)]
        request_id: Option<&'a RawValue>,
    }
    let cancelled = params.and_then(|params| serde_json::from_str::<Cancelled<'_>>(params.get()).ok());
    cancelled.and_then(|cancelled| cancelled.request_id).is_some_and(|id| id.get() == call.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::playback::PlaybackOptions;
    use crate::testing::conversation;

    fn check(input: &[&str], expected: &[&str]) {
        let mut playback = Playback::new(&conversation(), PlaybackOptions::default()).unwrap();
        let mut output = Vec::new();
        serve(&mut playback, input.join("\n").as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        assert_eq!(output.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn requests_are_answered_by_their_ids() {
        check(
            &[
                r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"fx__echo","arguments":{"text":"a"}}}"#,
                "what",
            ],
            &[
                r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
                r#"{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"first"}]}}"#,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is no JSON-RPC message"}}"#,
            ],
        );
    }

    #[test]
    fn a_question_waits_for_its_answer_and_others_do_not() {
        check(
            &[
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fx__ask","arguments":{}}}"#,
                r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":"replay-1","result":{"roots":[]}}"#,
            ],
            &[
                r#"{"jsonrpc":"2.0","id":"replay-1","method":"roots/list"}"#,
                r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"asked"}]}}"#,
            ],
        );
    }

    #[test]
    fn a_cancelled_call_is_silent() {
        check(
            &[
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fx__ask","arguments":{}}}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
                r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
            ],
            &[
                r#"{"jsonrpc":"2.0","id":"replay-1","method":"roots/list"}"#,
                r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
            ],
        );
    }
}
