mod answers;
mod clock;
mod handover;
mod interleavings;
mod owners;
mod questions;
mod sending;

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::ClientId;
use manifold_protocol::framing::Line;
use manifold_protocol::{Call, Fault, Method};
use tokio::task::JoinSet;

use super::Connection;
use crate::fake::{Asked, FakeHost, connection, id_of, raw, receive, show, written};

const SECOND: Duration = Duration::from_secs(1);

struct Wire {
    connection: Arc<Connection>,
    host: Arc<FakeHost>,
    _keeper: JoinSet<()>,
}

fn wire(keys: &str) -> Wire {
    let host = Arc::new(FakeHost::default());
    let connection = connection(keys, &host);
    let mut keeper = JoinSet::new();
    keeper.spawn(Arc::clone(&connection).keep_deadlines());
    Wire { connection, host, _keeper: keeper }
}

impl Wire {
    fn ask(&self, params: &str) -> Asked {
        self.ask_within(params, 10 * SECOND)
    }

    fn ask_within(&self, params: &str, timeout: Duration) -> Asked {
        let (exchange, asked) = Asked::open(timeout);
        let sent = self.connection.send(Call::new(Method::ToolsCall, Some(raw(params))), exchange);
        assert!(sent.is_ok(), "the connection is open");
        asked
    }

    fn receive(&self, line: &str) {
        receive(&self.connection, line);
    }

    /// Returns the ids of the requests just written.
    fn ids(&self) -> Vec<String> {
        written(&self.connection).iter().map(|line| id_of(line).to_string()).collect()
    }

    fn answer(&self, id: &str, result: &str) {
        self.receive(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }

    fn progress(&self, id: &str) {
        self.receive(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
        ));
    }

    fn question(&self, id: &str) {
        self.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{"q":1}}}}"#
        ));
    }
}

/// Lets the deadline keeper run at this very moment.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn call_of(wire: &Wire, client: u64) -> Asked {
    let (exchange, asked) = Asked::open_by(ClientId(client), 60 * SECOND, false);
    assert!(wire.connection.send(Call::new(Method::ToolsCall, Some(raw("{}"))), exchange).is_ok());
    asked
}
