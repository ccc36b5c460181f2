//! Spoilt messages in great number (F29): whatever they break is one call, and the process lives.
#![expect(clippy::disallowed_types, reason = "how fast they are dealt with is measured in real time")]

use std::time::{Duration, Instant};

use manifold_testkit::{Client, Sandbox, fake};
use serde_json::json;

use crate::{Random, alone, figure};

const AT_ONCE: usize = 200;
const SOON: Duration = Duration::from_secs(60);

/// Messages of both eras, to be spoilt.
const SEEDS: [&str; 10] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__echo","arguments":{"text":"x"},"_meta":{"progressToken":"t"}}}"#,
    r#"{"jsonrpc":"2.0","id":"s","method":"tools/list","params":{"cursor":"0"}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"file:///\u00e9"}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"a__p","arguments":{"k":"v"}}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a__p"},"argument":{"name":"k","value":"v"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no"}}"#,
    r#"{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}"#,
    r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"a__echo","arguments":{"n":-1.5e300},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"a__echo","requestState":"mf1.AAAA","inputResponses":{"k":{"action":"accept"}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    r#"{"jsonrpc":"2.0","id":10,"method":"logging/setLevel","params":{"level":"debug"}}"#,
];

impl Random {
    /// Spoils a message in a few places; it stays one line.
    fn spoil(&mut self, seed: &str) -> Vec<u8> {
        const PIECES: [&[u8]; 12] =
            [b"\"", b"{", b"}", b"[", b"]", b",", b":", b"\\u", b"null", b"1e999", b"\xff", b"\\"];
        let mut text = seed.as_bytes().to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(text.len());
            match self.below(5) {
                0 => text[at] = self.below(256) as u8,
                1 => drop(text.remove(at)),
                2 => drop(text.splice(at..at, PIECES[self.below(PIECES.len())].iter().copied())),
                3 => {
                    let (from, to) = (at, text.len().min(at + self.below(20)));
                    let copy = text[from..to].to_vec();
                    let into = self.below(text.len());
                    drop(text.splice(into..into, copy));
                }
                _ => drop(text.drain(at..text.len().min(at + self.below(12)))),
            }
        }
        text.retain(|byte| *byte != b'\n');
        text
    }
}

/// Waits until everything sent has been dealt with. A message that broke off may take what follows for its rest, so
/// the question is put more than once. Returns how many answers came.
fn settle(client: &mut Client, round: usize) -> usize {
    let mark = format!("settled {round}");
    let ping = json!({"jsonrpc": "2.0", "id": mark, "method": "ping"}).to_string();
    let end = Instant::now() + SOON;
    let mut answers = 0;
    while Instant::now() < end {
        client.send_text(&ping);
        while let Some(frame) = client.recv_raw(Duration::from_millis(200)) {
            let text =
                std::str::from_utf8(&frame).unwrap_or_else(|_| panic!("bad bytes went out: {frame:?}"));
            if text.contains(&mark) && text.contains("result") {
                return answers;
            }
            answers += 1;
        }
    }
    panic!("no answer any more: {}", client.stderr());
}

// F29
#[test]
fn no_spoilt_call_ends_the_process() {
    let _alone = alone();
    let calls = figure(20_000, 1_000_000);
    let sandbox = Sandbox::new();
    let knobs = json!({"prompts": [{"name": "p"}], "resources": [{"uri": "file:///a", "name": "a"}], "pid": sandbox.path("a.pid")});
    let config = json!({"mcpServers": {"a": fake(knobs)}, "managerTools": false});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-11-25", json!({}));
    client.call("a__echo", json!({"text": "x"}));
    let (pid, began) = (client.pid(), Instant::now());
    let (mut random, mut answers) = (Random(0x5eed_0029), 0);
    for round in 0..calls / AT_ONCE {
        let mut lines = Vec::new();
        for _ in 0..AT_ONCE {
            let seed = SEEDS[random.below(SEEDS.len())];
            lines.extend(random.spoil(seed));
            lines.push(b'\n');
        }
        client.send_raw(&lines);
        answers += settle(&mut client, round);
    }
    let panics = client.stderr().matches("panicked").count();
    println!(
        "F29: {calls} spoilt calls in {:?}, {answers} answers, {panics} panics, 0 exits",
        began.elapsed()
    );
    while client.recv_raw(Duration::from_millis(200)).is_some() {}
    let answer = client.call("a__echo", json!({"text": "x"}));
    assert_eq!(answer["result"]["content"][0]["text"], "x", "{answer}");
    assert!(manifold_testkit::alive(pid));
    assert_eq!(panics, 0, "{}", client.stderr());
}
