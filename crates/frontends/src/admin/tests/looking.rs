//! Routes, and what they say.

use super::*;

fn method(method: Method) -> &'static str {
    method.as_str()
}

#[tokio::test]
async fn every_route_of_the_table_is_answered() {
    let desk = desk();
    for route in ROUTES {
        let path = route.path.replace("{id}", "nothing");
        // Streams have no end to wait for.
        if matches!(path.as_str(), "/v1/events" | "/v1/traffic") {
            continue;
        }
        let answer = desk.ask(method(route.method), &path, "{}").await;
        assert_ne!(answer.status, 405, "{path}: {answer:?}");
        if answer.status >= 400 {
            assert_ne!(answer.code(), "unknown-route", "{path}: {answer:?}");
        }
        assert!(answer.header("manifold-event").is_some_and(|at| at.contains('-')), "{path}: {answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn what_is_not_there_and_what_cannot_be_done_are_told_apart() {
    let desk = desk();
    let unknown = desk.get("/v1/weather").await;
    assert_eq!((unknown.status, unknown.code()), (404, "unknown-route".to_owned()));
    let refused = desk.ask("DELETE", "/v1/about", "").await;
    assert_eq!((refused.status, refused.header("allow")), (405, Some("get, head, options")));
    let options = desk.send(&request("OPTIONS", "/v1/config", "", None)).await;
    assert_eq!((options.status, options.header("allow")), (204, Some("get, put, head, options")));
    let head = desk.send(&request("HEAD", "/v1/about", "", None)).await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(head.header("content-length").is_some());
}

#[tokio::test]
async fn one_connection_answers_one_request_after_the_other() {
    let desk = desk();
    let mut socket = desk.connect();
    let twice = request("GET", "/v1/about", "", None).replace("Connection: close\r\n", "");
    let last = request("GET", "/v1/servers?unknown=1", "", None);
    socket.write_all(format!("{twice}{twice}{last}").as_bytes()).await.unwrap();
    let all = rest(&mut socket).await;
    assert_eq!(all.matches("HTTP/1.1 200 OK").count(), 3, "{all}");
}

#[tokio::test]
async fn bodies_are_json_and_no_longer_than_they_may_be() {
    let desk = desk();
    let plain = "POST /v1/call HTTP/1.1\r\nHost: m\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\n";
    // Refused before the body has come.
    let refused = desk.send(plain).await;
    assert_eq!((refused.status, refused.code()), (400, "bad-request".to_owned()));
    let long = desk.ask("POST", "/v1/call", &format!("{{\"x\":\"{}\"}}", "x".repeat(16 << 20))).await;
    assert_eq!(long.status, 400);
    assert!(long.body.contains("longer than 16 MiB"), "{long:?}");
    for (body, what) in
        [("", "a body is missing"), ("{", "not what is asked for"), ("[]", "not what is asked for")]
    {
        let refused = desk.ask("POST", "/v1/call", body).await;
        assert!(refused.status == 400 && refused.body.contains(what), "{refused:?}");
    }
}

#[tokio::test]
async fn servers_are_found_by_their_names() {
    let desk = desk();
    let all = desk.get("/v1/servers").await.json();
    assert_eq!(all[0]["id"], "s");
    assert_eq!(desk.get("/v1/servers/s").await.json()["id"], "s");
    assert_eq!(desk.get("/v1/snapshot").await.json()["config"]["revision"], "r1");
    let unknown = desk.get("/v1/servers/git").await;
    assert_eq!((unknown.status, unknown.code()), (404, "unknown-server".to_owned()));
    let near = desk.get("/v1/servers/ss").await;
    assert_eq!(near.json()["error"]["hint"], "did you mean `s`?");
    let client = desk.get("/v1/clients/99").await;
    assert_eq!((client.status, client.code()), (404, "unknown-client".to_owned()));
    let rules = desk.get("/v1/permissions?namespace=nowhere").await;
    assert_eq!((rules.status, rules.code()), (404, "unknown-namespace".to_owned()));
}

#[tokio::test]
async fn lists_are_what_clients_see_in_pages() {
    let desk = desk();
    let page = desk.get("/v1/tools?limit=2").await.json();
    assert_eq!(page["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(page["items"][0]["name"], "s__echo");
    assert_eq!([&page["items"][0]["server"], &page["items"][0]["original"]], ["s", "echo"]);
    assert_eq!(page["items"][0].get("item"), None);
    let cursor = page["nextCursor"].as_str().unwrap();
    let next = desk.get(&format!("/v1/tools?limit=2&cursor={cursor}&full=1")).await.json();
    assert_eq!(next["items"][0]["item"]["inputSchema"]["type"], "object");
    assert_eq!(next.get("nextCursor"), None);
    assert_eq!(desk.get("/v1/tools?q=HOL").await.json()["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(desk.get("/v1/resources?kind=templates").await.json()["items"], serde_json::json!([]));
    assert_eq!(desk.get("/v1/resources?kind=rain").await.status, 400);
    assert_eq!(desk.get("/v1/tools?limit=x").await.status, 400);
    assert_eq!(desk.get("/v1/tools?namespace=x").await.code(), "unknown-namespace");
    assert_eq!(desk.held(), 0);
}

#[tokio::test]
async fn the_daemons_status_is_its_own() {
    let desk = desk();
    assert_eq!(desk.get("/v1/daemon").await.body, "{\"running\": true, \"pid\":77}\n");
}

/// Which scope is the least for each route.
#[tokio::test]
async fn over_anything_but_the_socket_a_peer_goes_as_far_as_it_was_let() {
    let desk = desk();
    let mut refused = [0; 3];
    for route in ROUTES {
        for (at, scope) in [Scope::View, Scope::Act, Scope::Edit].into_iter().enumerate() {
            let path = route.path.replace("{id}", "nothing");
            let mut socket = desk.connect_as(Some(scope));
            socket.write_all(request(method(route.method), &path, "", Some("{}")).as_bytes()).await.unwrap();
            let mut read = String::new();
            until(&mut socket, &mut read, "\r\n\r\n").await;
            let is_refused = read.starts_with("HTTP/1.1 403");
            refused[at] += usize::from(is_refused);
            // The config's text holds commands: never below the scope for it.
            let names_commands = path.starts_with("/v1/config");
            assert!(!names_commands || is_refused == (scope < Scope::Edit), "{scope:?} {path}: {read}");
            let is_looking = route.effect == manifold_admin::Effect::Reads
                && !names_commands
                && !path.starts_with("/v1/setup")
                && !matches!(route.path, "/v1/recordings/{id}" | "/v1/doctor");
            assert!(!is_looking || !is_refused, "{scope:?} {path}: {read}");
        }
    }
    assert_eq!(refused, [36, 20, 5], "of {}", ROUTES.len());
    let body = r#"{"name":"s__echo","client":{"cwd":"/","values":{"A":"b"}}}"#;
    let mut socket = desk.connect_as(Some(Scope::Edit));
    socket.write_all(request("POST", "/v1/call", "", Some(body)).as_bytes()).await.unwrap();
    let answer = Answered::of(&rest(&mut socket).await);
    assert_eq!((answer.status, answer.code()), (403, "denied".to_owned()));
    assert!(
        lock(&desk.program.opened).iter().all(|(_, client)| client.is_none()),
        "nothing was started with it"
    );
}
