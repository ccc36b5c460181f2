#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::thread;

use super::*;

fn answered(with: &'static str) -> Result<serde_json::Value, ClientError> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let served = thread::spawn(move || {
        let mut read = [0; 1024];
        let count = (&theirs).read(&mut read).unwrap();
        (&theirs).write_all(with.as_bytes()).unwrap();
        String::from_utf8(read[..count].to_vec()).unwrap()
    });
    let answer = Client::new(ours, Duration::from_secs(5)).unwrap().get("/v1/about");
    assert!(served.join().unwrap().starts_with("GET /v1/about HTTP/1.1\r\n"));
    answer
}

#[test]
fn answers_are_read_and_refusals_are_the_daemons_own_words() {
    assert_eq!(answered("HTTP/1.1 200 OK\r\n\r\n{\"pid\":7}").unwrap()["pid"], 7);
    let refused =
        answered("HTTP/1.1 409 Conflict\r\n\r\n{\"error\":{\"message\":\"it cannot\"}}").unwrap_err();
    assert_eq!(refused.to_string(), "it cannot");
    assert!(matches!(answered("hello"), Err(ClientError::NoDaemon)));
}
