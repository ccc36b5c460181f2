//! A registry on this machine that says what it was told to, lies included.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

/// What is answered at a path.
#[derive(Debug, Clone)]
enum Answer {
    Body(Vec<u8>),
    Redirect(String),
    /// More bytes than anybody wants, without a length.
    Endless,
}

/// The registry. It ends with the test's process.
#[derive(Debug)]
pub struct RegistryFake {
    address: String,
    answers: Arc<Mutex<BTreeMap<String, Answer>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl RegistryFake {
    #[expect(clippy::new_without_default, reason = "making one opens a port")]
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let fake = Self { address, answers: Arc::default(), asked: Arc::default() };
        let (answers, asked) = (Arc::clone(&fake.answers), Arc::clone(&fake.asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, asked) = (Arc::clone(&answers), Arc::clone(&asked));
                thread::spawn(move || serve(stream, &answers, &asked));
            }
        });
        fake
    }

    /// Returns where it is, for `MANIFOLD_REGISTRY`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Has it list these answers when a word is searched for.
    pub fn lists(&self, word: &str, servers: &[Value]) {
        let page = json!({"servers": servers, "metadata": {"nextCursor": "", "count": servers.len()}});
        self.has(&format!("/v0.1/servers?search={word}&version=latest&limit=100"), page.to_string());
    }

    /// Has it know a server, in its latest version and by its number. Takes what the API answers.
    pub fn knows(&self, answer: &Value) {
        let part = |name: &str| answer["server"][name].as_str().expect("a text").replace('/', "%2F");
        for version in ["latest", &part("version")] {
            self.has(&format!("/v0.1/servers/{}/versions/{version}", part("name")), answer.to_string());
        }
    }

    /// Has it answer at a path.
    pub fn has(&self, path: &str, body: impl Into<Vec<u8>>) {
        self.set(path, Answer::Body(body.into()));
    }

    pub fn redirects(&self, path: &str, to: &str) {
        self.set(path, Answer::Redirect(to.to_owned()));
    }

    pub fn never_ends(&self, path: &str) {
        self.set(path, Answer::Endless);
    }

    /// Returns the paths that were asked for.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), answer);
    }
}

fn serve(mut stream: TcpStream, answers: &Mutex<BTreeMap<String, Answer>>, asked: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    // The head ends with an empty line.
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
    let answer = answers.lock().unwrap_or_else(PoisonError::into_inner).get(&path).cloned();
    // Who has heard enough hangs up.
    let _ = match answer {
        Some(Answer::Body(body)) => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body))
        }
        Some(Answer::Redirect(to)) => {
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(head.as_bytes())
        }
        Some(Answer::Endless) => {
            let head = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
            head.and_then(|()| std::iter::repeat_with(|| stream.write_all(&[b' '; 64 << 10])).collect())
        }
        None => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"),
    };
}
