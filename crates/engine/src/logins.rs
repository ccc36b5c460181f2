//! Logins that a gateway begins for somebody who asked: by a button, or by the client whose call waits for it. None is ever
//! begun by itself.

use std::sync::Arc;

use manifold_config::Server;
use manifold_protocol::Fault;
use tokio::sync::watch;

use crate::upstream::BoxFuture;

/// Begins logins.
pub trait Logins: Send + Sync {
    /// Begins to sign in to a server, or joins whoever has begun already.
    fn open(&self, server: &Arc<Server>) -> BoxFuture<Result<OpenLogin, Fault>>;
}

/// A login that waits for somebody to finish it in a browser.
#[derive(Debug, Clone)]
pub struct OpenLogin {
    /// What is opened in the browser. It is nobody's yet who opens it.
    pub url: String,
    /// The host of that, for people.
    pub host: String,
    /// When it ends, in seconds since 1970.
    pub until: u64,
    /// How it ended, once it has.
    pub done: watch::Receiver<Option<Result<(), String>>>,
}

impl OpenLogin {
    /// Waits for its end; fails with why nobody is signed in.
    pub async fn ended(&mut self) -> Result<(), String> {
        match self.done.wait_for(Option::is_some).await {
            Ok(done) => done.clone().unwrap_or(Ok(())),
            Err(_) => Err("the gateway has let go of the login".to_owned()),
        }
    }
}
