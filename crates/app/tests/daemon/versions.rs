//! Shims and daemons of other releases: what they say is spoken here by the test (A11).
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use manifold_rendezvous::frame::{self, Kind};
use manifold_rendezvous::hello::{Answer, Hello, RefusalCode, Transport, Welcome};
use manifold_rendezvous::{Identity, SandboxMarks, Stages, receive_line, send_line};
use manifold_testkit::until;
use serde_json::json;
use std::io::{Read, Write};

use crate::home::Home;
use crate::{ALONE, LEGACY, SOON, fake_with, text_of};

fn soon() -> Instant {
    Instant::now() + SOON
}

/// Returns the first words of a shim that understands these versions of them.
fn hello(home: &Home, words: [u32; 2]) -> Hello {
    let config = home.config.canonicalize().expect("it is there");
    Hello {
        words,
        version: "9.9.9".to_owned(),
        identity: Identity { config: config.to_string_lossy().into_owned(), profile: "manifold".to_owned() },
        namespace: None,
        eager: false,
        transport: Transport::Mcp,
        tool: None,
        cwd: "/".to_owned(),
        pid: std::process::id(),
        sandbox: SandboxMarks::own(),
        resume: None,
    }
}

/// Says the first words to the daemon, and returns what it answers.
fn greet(socket: &UnixStream, line: &[u8]) -> Answer {
    let (_stages, page) = Stages::new().expect("a page");
    send_line(socket, line, &[page.as_fd()], soon()).expect("it listens");
    Answer::from_line(&receive_line(socket, soon()).expect("it answers")).expect("in words that are known")
}

#[test]
fn shims_of_releases_around_are_served_and_one_too_far_is_told_so() {
    let home = Home::new(json!({"fx": fake_with(&["echo"], json!({}))}));
    let _window = home.open();
    let socket = home.run_file("mcp.sock").expect("it listens");
    let connect = || UnixStream::connect(&socket).expect("it listens");
    for words in [[0, 1], [1, 1], [1, 2]] {
        let mut line = hello(&home, words).to_line();
        // A newer one says more, and by another number.
        if words == [1, 2] {
            let text = String::from_utf8(line).expect("text").replacen(
                "MANIFOLD 1 {",
                "MANIFOLD 2 {\"new\":[1],",
                1,
            );
            line = text.into_bytes();
        }
        let mut ours = connect();
        assert!(matches!(greet(&ours, &line), Answer::Welcome(_)), "{words:?}");
        send_line(&ours, b"{\"values\":{},\"more\":1}\n", &[], soon()).expect("it reads");
        // A kind of frame that is not known is passed over.
        let unknown = [3, 0, 0, 0, 200, 0, 0, 0, b'x', b'y', b'z'];
        let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let head = frame::head(Kind::Message, 1, ping.len()).expect("it is short");
        ours.write_all(&[&unknown[..], &head[..], &ping[..]].concat()).expect("it reads");
        let mut read = BytesMut::new();
        let answer = loop {
            if let Some(frame) = frame::next(&mut read).expect("frames") {
                break frame;
            }
            let mut chunk = [0; 4096];
            let count = ours.read(&mut chunk).expect("it answers");
            assert!(count > 0, "{words:?}: it hung up");
            read.extend_from_slice(&chunk[..count]);
        };
        assert_eq!((answer.kind, answer.slot), (Kind::Message, 1));
    }
    for words in [[2, 3], [0, 0]] {
        let Answer::Refused(refused) = greet(&connect(), &hello(&home, words).to_line()) else {
            panic!("{words:?}")
        };
        assert_eq!(refused.code, RefusalCode::Words);
    }
}

/// Answers one shim as a daemon of another release would, and then its requests with empty results.
fn other_daemon(socket: &Path, words: [u32; 2]) -> thread::JoinHandle<()> {
    let listener = UnixListener::bind(socket).expect("the folder is there");
    thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("a shim comes");
        receive_line(&peer, soon()).expect("it says who it is");
        let welcome = Welcome {
            words,
            version: "9.9.9".to_owned(),
            epoch: "e".to_owned(),
            session: "s".to_owned(),
            needs: Vec::new(),
            needs_everything: false,
            limit_bytes: 1 << 20,
            kept_calls: false,
        };
        let line = String::from_utf8(Answer::Welcome(welcome).to_line()).expect("text");
        let line = line.replacen("{\"welcome\":{", "{\"welcome\":{\"new\":true,", 1);
        send_line(&peer, line.as_bytes(), &[], soon()).expect("it reads");
        let Ok(_values) = receive_line(&peer, soon()) else { return };
        let mut read = BytesMut::new();
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = peer.read(&mut chunk) {
            read.extend_from_slice(&chunk[..count]);
            while let Some(request) = frame::next(&mut read).expect("frames") {
                if request.slot == 0 {
                    continue;
                }
                let message: serde_json::Value = serde_json::from_slice(&request.payload).expect("JSON");
                let answer =
                    json!({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": LEGACY}})
                        .to_string();
                let head = frame::head(Kind::Message, request.slot, answer.len()).expect("it is short");
                peer.write_all(&[&head[..], answer.as_bytes()].concat()).expect("it reads");
            }
        }
    })
}

#[test]
fn a_daemon_of_a_release_around_serves_and_one_too_far_is_done_without() {
    for (words, serves) in [([1, 1], true), ([0, 1], true), ([1, 2], true), ([2, 3], false)] {
        let home = Home::new(json!({"fx": fake_with(&["echo"], json!({}))}));
        // The place is made by a daemon of ours, which leaves it.
        home.open().leave();
        assert!(home.order(&["stop"]).status.success());
        let socket = home.run_file("lock").expect("it was there").with_extension("mcp.sock");
        let daemon = other_daemon(&socket, words);
        let mut window = home.window();
        let answer = window.initialize(LEGACY, json!({}));
        if serves {
            assert_eq!(answer["result"], json!({"protocolVersion": LEGACY}), "{words:?}");
            assert!(!window.stderr().contains(ALONE));
        } else {
            assert_eq!(text_of(&window.call("fx__echo", json!({"text": "here"}))), "here");
            assert!(
                until(Duration::from_secs(60), || window.stderr().contains(ALONE)),
                "{}",
                window.stderr()
            );
        }
        window.leave();
        daemon.join().expect("it was well");
    }
}
