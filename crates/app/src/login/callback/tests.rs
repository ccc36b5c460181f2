use std::cell::Cell;

use manifold_oauth::{CallbackError, LoginError};

use super::*;

fn home(port: u16) -> String {
    format!("http://127.0.0.1:{port}/callback")
}

async fn asked(port: u16, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    // Who is not listened to to the end is cut off.
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

/// Asks all of these, one after the other; the last is taken for the end of the login.
async fn check(requests: &[Vec<u8>], last: &str) -> (Vec<String>, usize) {
    let callbacks = Callbacks::open(None, None, None, home).await.unwrap().unwrap();
    let port = callbacks.port().unwrap();
    assert_eq!(callbacks.redirect_uri(), format!("http://127.0.0.1:{port}/callback"));
    let taken = Cell::new(0);
    let take = |query: String| {
        taken.set(taken.get() + 1);
        let ends = query == last;
        async move {
            Err(match ends {
                true => LoginError::Spent.into(),
                false => LoginError::from(CallbackError::WrongState).into(),
            })
        }
    };
    let asking = async {
        let mut answers = Vec::new();
        for request in requests {
            answers.push(asked(port, request).await);
        }
        answers
    };
    let (ended, answers) = tokio::join!(callbacks.wait(take), asking);
    assert!(matches!(ended, Err(Failed::Login(LoginError::Spent))));
    drop(callbacks);
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err(), "it is gone with the login");
    (answers, taken.get())
}

fn get(target: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").into_bytes()
}

#[tokio::test]
async fn only_the_one_request_is_taken_and_nothing_is_reflected() {
    let marker = "<script>marker</script>";
    let requests = vec![
        get("/"),
        get("/callback"),
        get("/callback/?state=marker"),
        get("/other?state=marker"),
        b"POST /callback?state=marker HTTP/1.1\r\nContent-Length: 0\r\n\r\n".to_vec(),
        b"HEAD /callback?state=marker HTTP/1.1\r\n\r\n".to_vec(),
        b"marker\r\n\r\n".to_vec(),
        get(&format!("/callback?state={marker}")),
        get("/callback?state=right"),
    ];
    let (answers, taken) = check(&requests, "state=right").await;
    assert_eq!(taken, 2, "what is none of it never gets to the login");
    for (answer, status) in answers.iter().zip([404, 404, 404, 404, 404, 404, 404, 400, 200]) {
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(!answer.contains("marker"), "{answer}");
        for header in [
            "Content-Security-Policy: default-src 'none'\r\n",
            "Cache-Control: no-store\r\n",
            "Referrer-Policy: no-referrer\r\n",
        ] {
            assert!(answer.contains(header), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_request_that_does_not_end_is_not_read_to_the_end() {
    let long = get(&format!("/callback?state={}", "a".repeat(1 << 20)));
    let (answers, taken) = check(&[long, get("/callback?state=right")], "state=right").await;
    assert_eq!(taken, 1);
    assert!(answers[0].is_empty() || answers[0].starts_with("HTTP/1.1 404 "), "{}", answers[0]);
}

#[tokio::test]
async fn the_port_of_before_is_taken_again_if_it_is_free() {
    let first = Callbacks::open(None, None, None, home).await.unwrap().unwrap();
    let (port, uri) = (first.port().unwrap(), first.redirect_uri().to_owned());
    let other = Callbacks::open(None, None, Some(&uri), home).await.unwrap().unwrap();
    assert_ne!(other.port(), Some(port), "it is taken");
    assert!(
        Callbacks::open(None, Some(port), None, home).await.is_err(),
        "a port that is configured is the only one"
    );
    drop(first);
    let again = Callbacks::open(None, None, Some(&uri), home).await.unwrap().unwrap();
    assert_eq!(again.redirect_uri(), uri);
    assert!(Callbacks::open(Some("https://me.example/callback"), None, None, home).await.unwrap().is_none());
}
