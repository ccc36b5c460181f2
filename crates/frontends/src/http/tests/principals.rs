//! Who asks: what one principal opened another does not find.

use manifold_config::TokenDigest;

use super::*;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

/// Opens a site with two tokens, `one` and `two`; the second is good for a minute.
fn site_of_two() -> TestSite {
    let token = |name: &str, until| {
        let digest = TokenDigest::of(&secret(name));
        Token { name: name.into(), digest, until, grants: None, is_operators: false }
    };
    let soon = Until::At(Instant::now() + Duration::from_secs(60));
    let tokens = vec![token("one", None), token("two", Some(soon))];
    let admission = Admission::default().accepting(Accepted { tokens, ..Accepted::default() });
    site_with(admission, ClientLimits::default(), 1 << 20)
}

fn secret(name: &str) -> String {
    format!("{name}-{name}-{name}-{name}")
}

fn head(verb: &str, path: &str, who: &str, more: &str) -> String {
    let credential = secret(who);
    format!(
        "{verb} {path} HTTP/1.1\r\nhost: localhost:3095\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nauthorization: Bearer {credential}{more}"
    )
}

#[tokio::test(start_paused = true)]
async fn a_session_is_found_by_its_own_principal_alone() {
    let site = site_of_two();
    let (opened, _) = site.exchange(&head("POST", "/mcp", "one", ""), INITIALIZE).await;
    let id = header(&opened, "mcp-session-id").unwrap();
    let session = format!("\r\nmcp-session-id: {id}");
    let (status, ..) = site.send(&head("POST", "/mcp", "two", &session), LIST).await;
    assert_eq!(status, 404);
    for verb in ["GET", "DELETE"] {
        let (status, ..) = site.send(&head(verb, "/mcp", "two", &session), "").await;
        assert_eq!(status, 404, "{verb}");
    }
    let (status, ..) = site.send(&head("POST", "/mcp", "one", &session), LIST).await;
    assert_eq!(status, 200, "it is still there for whoever opened it");
}

#[tokio::test(start_paused = true)]
async fn messages_of_the_old_transport_find_no_session_of_another() {
    let site = site_of_two();
    let mut stream = site.connect();
    stream.write_all(format!("{}\r\n\r\n", head("GET", "/sse", "one", "")).as_bytes()).await.unwrap();
    let mut said = String::new();
    while !said.contains("sessionId=") || !said.ends_with("\n\n") {
        let mut piece = [0; 1024];
        let count = stream.read(&mut piece).await.unwrap();
        said.push_str(std::str::from_utf8(&piece[..count]).unwrap().trim_end_matches("\r\n"));
    }
    let path = said.split("data: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    let (status, ..) = site.send(&head("POST", &path, "two", ""), INITIALIZE).await;
    assert_eq!(status, 404);
    let (status, ..) = site.send(&head("POST", &path, "one", ""), INITIALIZE).await;
    assert_eq!(status, 202);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_repeats_is_judged_again_once_its_credential_is_over() {
    let site = site_of_two();
    let mut stream = site.connect();
    let body = INITIALIZE;
    let request =
        format!("{}\r\ncontent-length: {}\r\n\r\n{body}", head("POST", "/mcp", "two", ""), body.len());
    let mut status = async || {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![0; 4096];
        let count = stream.read(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer[..count]).split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status().await, "200");
    assert_eq!(status().await, "200", "the same head again");
    // Just short of the time for which a head is kept, so that it is the kept one that comes again.
    for _ in 0..70 {
        tokio::time::advance(Duration::from_millis(900)).await;
        tokio::task::yield_now().await;
        if status().await == "401" {
            return;
        }
    }
    panic!("a credential that is over still lets in");
}
