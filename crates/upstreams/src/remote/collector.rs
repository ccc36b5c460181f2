//! The way to a collector of telemetry: connections are kept, nothing of ours but what is given is said.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, Uri};
use manifold_engine::{Lock as _, Tasks};
use manifold_protocol::Outgoing;
use tokio::time::timeout;

use super::client::HttpClient;
use super::dial::{Dialer, Trust};
use super::h1::Fields;

/// What is read of an answer; nobody looks at it.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// Posts to collectors.
pub struct CollectorHttp {
    trust: Trust,
    tasks: Tasks,
    /// By their address; there are two at the most.
    clients: Mutex<HashMap<String, Arc<HttpClient>>>,
}

impl CollectorHttp {
    pub fn new(tasks: Tasks) -> Self {
        Self { trust: Trust::default(), tasks, clients: Mutex::default() }
    }

    /// Sends a body and returns the status of the answer.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: Vec<u8>,
        patience: Duration,
    ) -> Result<u16, String> {
        let client = self.client(url)?;
        let agent = concat!("manifold/", env!("CARGO_PKG_VERSION"));
        let mut fields =
            Fields::default().with("user-agent", agent).with("content-type", "application/x-protobuf");
        for (name, value) in headers {
            fields.say_foreign(&name.to_ascii_lowercase(), value);
        }
        let body: Outgoing = Bytes::from(body).into();
        let ask = async {
            let mut answer =
                client.ask_once(&Method::POST, &fields, &body).await.map_err(|why| why.to_string())?;
            let mut read = 0;
            // Read to its end, so that the connection serves again.
            while let Ok(Some(piece)) = answer.next().await {
                read += piece.len();
                if read > MAX_ANSWER_BYTES {
                    break;
                }
            }
            Ok(answer.head.status)
        };
        timeout(patience, ask).await.unwrap_or_else(|_| Err("it did not answer in time".to_owned()))
    }

    fn client(&self, url: &str) -> Result<Arc<HttpClient>, String> {
        if let Some(client) = self.clients.locked().get(url) {
            return Ok(Arc::clone(client));
        }
        let uri: Uri = url.parse().map_err(|_| "its address cannot be read".to_owned())?;
        let dialer = Dialer::new(&uri, &self.trust)?;
        let client = Arc::new(HttpClient::bare(uri, dialer, self.tasks.clone()));
        self.clients.locked().insert(url.to_owned(), Arc::clone(&client));
        Ok(client)
    }
}
