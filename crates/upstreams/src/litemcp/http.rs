//! LiteMCP over HTTP: GET gives the tool, POST on the same path calls it, and nothing is numbered.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use hyper::Method as Verb;
use manifold_config::RemoteSpec;
use manifold_engine::Tasks;
use manifold_protocol::{Fault, Outgoing, Raw};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::debug;

use super::facts;
use crate::connection::{Connection, Dialect, Post, Poster, Way};
use crate::remote::{Fields, HttpClient, Reached, Remote, Retries, Unreached, fail_call};
use crate::supervisor::Running;

/// What is said with a GET, and with every call. A long one must not look like a connection at rest.
const ASKED: &str = "accept: application/json\r\n";
const CALLED: &str =
    "accept: application/json\r\ncontent-type: application/json\r\nconnection: keep-alive\r\n";

/// Asks for the tool and starts everything that speaks with the server.
pub(super) async fn reach(remote: &Remote, client: Arc<HttpClient>) -> Result<Running<Reached>, Fault> {
    let tool = ask(&client, remote.limit_bytes).await.map_err(|why| remote.refused(why))?;
    let connection = remote.connection();
    let (gone, is_gone) = watch::channel(None);
    let posts = Posts {
        client,
        connection: Arc::downgrade(&connection),
        spec: remote.spec.clone(),
        unauthorized: remote.unauthorized(),
        limit_bytes: remote.limit_bytes,
        gone,
    };
    let carrier = Carrier { posts: Arc::new(posts), tasks: remote.tasks.clone() };
    connection.speak(Dialect::litemcp(Way::Posts(Arc::new(carrier))));
    let tool = Raw::parse(tool).map_err(|_| "its answer to GET is no JSON".to_owned());
    let learnt = tool.and_then(|tool| {
        let unread = |_| "its answer to GET is no tool of LiteMCP 1".to_owned();
        connection.learn_tool(&tool).map_err(unread)
    });
    learnt.map_err(|why| remote.failed(why))?;
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&connection).keep_deadlines());
    let life = Reached::new(is_gone, tasks);
    Ok(Running { connection, said: facts(), pid: None, life })
}

async fn ask(client: &Arc<HttpClient>, limit_bytes: usize) -> Result<Bytes, Unreached> {
    let fields = Fields::new(ASKED);
    client.send(Verb::GET, client.home(), &fields, &Outgoing::default()).await?.read(limit_bytes).await
}

/// Starts a task for each call.
struct Carrier {
    posts: Arc<Posts>,
    tasks: Tasks,
}

impl Poster for Carrier {
    fn post(&self, post: Post) {
        let posts = Arc::clone(&self.posts);
        self.tasks.spawn(async move { posts.carry(post).await });
    }
}

/// What all calls to one server share.
struct Posts {
    client: Arc<HttpClient>,
    connection: Weak<Connection>,
    spec: RemoteSpec,
    unauthorized: Fault,
    limit_bytes: usize,
    gone: watch::Sender<Option<String>>,
}

impl Posts {
    /// Brings one call to the server and its answer back, for as long as somebody waits for it.
    async fn carry(&self, post: Post) {
        let Some(connection) = self.connection.upgrade() else { return };
        let answered = tokio::select! {
            biased;
            answered = self.deliver(&connection, post.call, post.body) => answered,
            _ = post.left => return,
        };
        match answered {
            // What cannot be read is an answer too, and no good one.
            Ok(body) => {
                connection.receive_posted(post.call, Raw::parse(body).unwrap_or_else(|_| Raw::null()))
            }
            Err(why) => {
                debug!(server = connection.id(), "{why}");
                fail_call(&connection, post.call, &why, &self.unauthorized);
                if matches!(why, Unreached::Connect(_)) && !connection.is_busy() {
                    self.gone.send_replace(Some(why.to_string()));
                }
            }
        }
    }

    /// Posts a call. It is sent again only if it was never written or was refused for now.
    async fn deliver(&self, connection: &Connection, call: u64, body: Outgoing) -> Result<Bytes, Unreached> {
        let fields = Fields::new(CALLED);
        let mut retries = Retries::new(self.spec.retries, self.spec.retry_delay);
        let answer = loop {
            match self.client.send(Verb::POST, self.client.home(), &fields, &body).await {
                Err(why) => retries.rest(connection.id(), why, connection.time_left(call)).await?,
                Ok(answer) => break answer,
            }
        };
        connection.room().await;
        answer.read(self.limit_bytes).await
    }
}
