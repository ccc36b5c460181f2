use std::net::TcpStream;

use manifold_testkit::http::Gateway;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

use super::*;

const PATH: &str = "/litemcp/default/Calculator";
const JSON: (&str, &str) = ("Content-Type", "application/json");

fn call() -> String {
    json!({"version": [1, 0, 0], "tool": "Calculator", "arguments": ["2", "3"]}).to_string()
}

// S4-8, S4-9: over HTTP the same, without the message around it (section 2.4)
#[test]
fn get_tells_the_tool_and_post_uses_it() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let told = gateway.ask("GET", PATH, &[], "");
    assert_eq!((told.status, told.json()), (200, info()["data"].clone()));
    let used = gateway.ask("POST", PATH, &[JSON], &call());
    assert_eq!((used.status, used.json()), (200, result()["data"].clone()));
    assert_eq!(used.header("keep-alive"), Some("timeout=180, max=100"));
    assert_eq!(used.header("connection").map(str::to_lowercase).as_deref(), Some("keep-alive"));

    let dispatcher = gateway.ask("GET", "/litemcp/default", &[], "");
    assert_eq!(dispatcher.json()["parameters"][0]["name"], "tool");
    let real = gateway.ask("POST", "/litemcp/default", &[JSON], &call());
    assert_eq!(real.json(), result()["data"]);
}

// S4-11
#[test]
fn a_wrong_address_is_not_found_and_a_failed_call_is_a_result() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    for path in ["/litemcp/default/nothing", "/litemcp/nowhere/Calculator", "/litemcp/nowhere"] {
        assert_eq!(gateway.ask("GET", path, &[], "").status, 404, "{path}");
        assert_eq!(gateway.ask("POST", path, &[JSON], &call()).status, 404, "{path}");
    }
    assert_eq!(gateway.ask("POST", PATH, &[JSON], "{").status, 400);
    assert_eq!(gateway.ask("POST", PATH, &[JSON], r#"{"arguments":[]}"#).status, 400);
    assert_eq!(gateway.ask("DELETE", PATH, &[], "").status, 405);
    let few = gateway.ask("POST", PATH, &[JSON], r#"{"version":[1,0,0],"tool":"Calculator"}"#);
    assert_eq!((few.status, &few.json()["response"]["error"]), (200, &json!(true)));
    let other = gateway.ask("POST", PATH, &[JSON], r#"{"version":[1,0,0],"tool":"sleep","arguments":["1"]}"#);
    assert_eq!(other.json()["response"]["content"][0]["data"], "Tool 'sleep' not found");
}

#[test]
fn the_door_is_the_same() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &["--token-file", &token(&sandbox)]);
    assert_eq!(gateway.ask("GET", PATH, &[], "").status, 401);
    for name in ["Authorization", "Authentication"] {
        assert_eq!(gateway.ask("GET", PATH, &[(name, "Bearer wrong")], "").status, 401);
        assert_eq!(gateway.ask("GET", PATH, &[(name, "Bearer a-long-enough-secret")], "").status, 200);
    }
    let foreign = [("Authorization", "Bearer a-long-enough-secret"), ("Origin", "https://evil.example")];
    assert_eq!(gateway.ask("GET", PATH, &foreign, "").status, 403);

    let refused = |headers: &[(&str, &str)]| match open(&gateway, "/litemcp/default", headers) {
        Err(Error::Http(response)) => response.status().as_u16(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&[]), 401);
    assert_eq!(refused(&foreign), 403);
    assert!(open(&gateway, "/litemcp/default", &[("Authentication", "Bearer a-long-enough-secret")]).is_ok());
}

// L14: a page of this machine may not open a WebSocket unless it is ours, or named
#[test]
fn a_websocket_of_another_page_needs_cors() {
    let sandbox = Sandbox::new();
    let refused = |gateway: &Gateway, origin: &str| match open(gateway, PATH, &[("Origin", origin)]) {
        Ok(_) => None,
        Err(Error::Http(response)) => Some(response.status().as_u16()),
        other => panic!("{other:?}"),
    };
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let port = gateway.port;
    assert_eq!(refused(&gateway, &format!("http://localhost:{port}")), None, "our own");
    for origin in ["http://localhost:8000", "http://localhost", "http://127.0.0.1:8000"] {
        assert_eq!(refused(&gateway, origin), Some(403), "{origin}");
    }
    // As a browser sees it these are other origins, too.
    for origin in [format!("https://localhost:{port}"), format!("http://127.0.0.1:{port}")] {
        assert_eq!(refused(&gateway, &origin), Some(403), "{origin}");
    }
    let mut named = config(&sandbox);
    named["server"] = json!({"cors": {"origins": ["http://localhost:8000"]}});
    let gateway = Gateway::start(&sandbox, &named, &[]);
    assert_eq!(refused(&gateway, "http://localhost:8000"), None);
    assert_eq!(refused(&gateway, "http://localhost:8001"), Some(403));
}

fn token(sandbox: &Sandbox) -> String {
    sandbox.write_private("token", "a-long-enough-secret\n")
}

pub(crate) type Socket = WebSocket<TcpStream>;

pub(crate) fn open(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Result<Socket, Error> {
    let stream = TcpStream::connect(("127.0.0.1", gateway.port)).expect("the gateway listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    let mut request =
        format!("ws://localhost:{}{path}", gateway.port).into_client_request().expect("a request");
    for (name, value) in headers {
        let name =
            tokio_tungstenite::tungstenite::http::HeaderName::from_bytes(name.as_bytes()).expect("a name");
        request.headers_mut().insert(name, value.parse().expect("a value"));
    }
    match client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(tokio_tungstenite::tungstenite::HandshakeError::Failure(error)) => Err(error),
        Err(interrupted) => panic!("{interrupted:?}"),
    }
}

fn connect(gateway: &Gateway, path: &str) -> Socket {
    open(gateway, path, &[]).expect("a WebSocket")
}

pub(crate) fn send(socket: &mut Socket, text: &str) {
    socket.send(Message::text(text.trim_end())).expect("the gateway reads");
}

pub(crate) fn receive(socket: &mut Socket) -> Value {
    loop {
        match socket.read().expect("an answer") {
            Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn close_code(socket: &mut Socket) -> CloseCode {
    loop {
        match socket.read().expect("a close") {
            Message::Close(Some(frame)) => return frame.code,
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

// S4-7, S4-8, S4-9, S4-10: a message per frame, the same words as on a pipe
#[test]
fn a_websocket_carries_a_message_per_frame() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let mut socket = connect(&gateway, PATH);
    send(&mut socket, GET);
    assert_eq!(receive(&mut socket), info());
    send(&mut socket, CALL);
    assert_eq!(receive(&mut socket), result());

    let mut socket = connect(&gateway, "/litemcp/default");
    send(&mut socket, &message(1, "call", &json!({"tool": "sleep", "arguments": ["60000"]})));
    send(&mut socket, "nonsense");
    send(&mut socket, CALL);
    send(&mut socket, CALL);
    assert_eq!(receive(&mut socket), result());
    send(&mut socket, &message(3, "get", &Value::Null));
    let answer = receive(&mut socket);
    assert_eq!((&answer["id"], &answer["data"]["parameters"][0]["name"]), (&json!(3), &json!("tool")));
}

#[test]
fn pings_are_answered_and_closing_is_mutual() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let mut socket = connect(&gateway, PATH);
    socket.send(Message::Ping("are you there".into())).expect("the gateway reads");
    assert_eq!(socket.read().expect("an answer"), Message::Pong("are you there".into()));
    send(&mut socket, &message(1, "call", &json!({"tool": "Calculator", "arguments": ["2", "3"]})));
    receive(&mut socket);
    socket.close(None).expect("the gateway reads");
    assert!(matches!(socket.read(), Ok(Message::Close(_))));
    assert!(matches!(socket.read(), Err(Error::ConnectionClosed)));
}

#[test]
fn what_is_not_text_or_too_long_ends_a_websocket() {
    let sandbox = Sandbox::new();
    let mut limited = config(&sandbox);
    limited["limits"] = json!({"requestBytes": "64 KiB"});
    let gateway = Gateway::start(&sandbox, &limited, &[]);
    let mut socket = connect(&gateway, PATH);
    socket.send(Message::binary("{}")).expect("the gateway reads");
    assert_eq!(close_code(&mut socket), CloseCode::Unsupported);
    let mut socket = connect(&gateway, PATH);
    let _ = socket.send(Message::text("x".repeat(80 << 10)));
    assert_eq!(close_code(&mut socket), CloseCode::Size);
    send(&mut connect(&gateway, PATH), GET);
}

#[test]
fn a_client_that_hangs_up_takes_its_calls_back() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let mut socket = connect(&gateway, "/litemcp/default");
    send(&mut socket, &message(1, "call", &json!({"tool": "sleep", "arguments": ["60000"]})));
    assert!(until(PATIENCE, || sandbox.received("s.log", "tools/call").len() == 1), "the call is under way");
    drop(socket);
    assert!(
        until(PATIENCE, || sandbox.received("s.log", "notifications/cancelled").len() == 1),
        "it is taken back"
    );
}

#[test]
fn calls_in_flight_finish_before_a_websocket_is_closed() {
    let sandbox = Sandbox::new();
    let mut gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let mut socket = connect(&gateway, "/litemcp/default");
    send(&mut socket, &message(1, "call", &json!({"tool": "sleep", "arguments": ["700"]})));
    assert!(until(PATIENCE, || sandbox.received("s.log", "tools/call").len() == 1), "the call is under way");
    gateway.signal(Signal::SIGTERM);
    assert_eq!(receive(&mut socket)["data"]["response"]["content"][0]["data"], "slept");
    assert_eq!(close_code(&mut socket), CloseCode::Away);
    let _ = socket.flush();
    assert!(gateway.client.wait_exit(PATIENCE).success());
}
