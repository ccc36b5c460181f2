use std::sync::Arc;
use std::time::Duration;

use manifold_protocol::{Call, Caller, Method};

use crate::fake::{Asked, FakeHost, connection, raw, written};

const SECOND: Duration = Duration::from_secs(1);

/// One without a session who brings the answers to an earlier round.
fn retrying() -> Arc<Caller> {
    Arc::new(Caller {
        capabilities: raw("{}"),
        info: None,
        log_level: None,
        retries: true,
        is_retry: true,
        words: Default::default(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_server_with_sessions_is_never_sent_state_it_did_not_give() {
    let host = Arc::new(FakeHost::default());
    let connection = connection("", &host);
    let (exchange, asked) = Asked::open(SECOND);
    let params = Some(raw(r#"{"name":"t","requestState":"x"}"#));
    assert!(connection.send(Call::new(Method::ToolsCall, params).by(retrying()), exchange).is_ok());
    assert!(asked.answered().await.starts_with("fault -32602"));
    assert_eq!(written(&connection), [""; 0]);

    // Answers without a state go on with nothing: they are left out.
    let (exchange, _asked) = Asked::open(SECOND);
    let params = Some(raw(r#"{"name":"t","inputResponses":{"a":{}}}"#));
    assert!(connection.send(Call::new(Method::ToolsCall, params).by(retrying()), exchange).is_ok());
    assert!(written(&connection)[0].ends_with(r#""params":{"name":"t"}}"#));
}
