//! Calls to servers nobody is signed in to: a client that can be sent to an address is asked to sign in there, once for
//! each server, and its calls wait for it. Others hear at once what to do.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use manifold_config::{Server, ServerKey, Transport};
use manifold_protocol::{Answer, Call, Failure, Fault, Method, Raw, RawObject, Reply, notification};
use tokio::sync::watch;
use tokio::time::timeout;

use super::Gateway;
use crate::catalog::Member;
use crate::changes::ClientId;
use crate::exchange::{CallHandle, Exchange, Sink};
use crate::logins::OpenLogin;
use crate::sync::Lock as _;
use crate::upstream::Upstream;

/// How long somebody may take to sign in once they have said that they will.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a call that comes back for its answer is held before it is sent back once more.
const HOLD: Duration = Duration::from_secs(20);

/// Who is being asked to sign in where. Each is asked once, however many calls wait.
#[derive(Default)]
pub(super) struct Asked(Mutex<HashMap<(ClientId, ServerKey), Underway>>);

/// Whether somebody has signed in, once the question has come to its end.
type Underway = watch::Receiver<Option<bool>>;

/// A call that waits for somebody to sign in.
struct Waiting {
    gateway: Weak<Gateway>,
    server: Arc<Server>,
    upstream: Arc<dyn Upstream>,
    call: Call,
    /// What the caller hears if nobody does.
    fault: Fault,
}

impl Gateway {
    /// Sends a call to a member. One that is refused because nobody is signed in was not carried out: it is sent once more
    /// when the client has signed in, where it can be asked to.
    pub(super) fn deliver(self: &Arc<Self>, member: &Member, call: Call, exchange: Exchange) {
        // A gateway with a public address has clients that come from this machine only as far as can be seen.
        let is_public = self.fleet.config().settings.http.public_url.is_some();
        let asked = |server: &&Arc<Server>| can_be_asked(server, &call, &exchange, is_public);
        let Some(server) = member.server.as_ref().filter(asked) else {
            return member.upstream.send(call, exchange);
        };
        let (gateway, server) = (Arc::downgrade(self), Arc::clone(server));
        let (upstream, again) = (Arc::clone(&member.upstream), call.clone());
        let exchange = exchange.then(move |reply, outer| match reply {
            Err(Failure::Fault(fault @ Fault::SignInNeeded { .. })) => {
                Waiting { gateway, server, upstream, call: again, fault }.begin(outer);
            }
            reply => outer.finish(reply),
        });
        member.upstream.send(call, exchange);
    }
}

/// Returns whether whoever makes the call can be sent to an address, and opens it where the gateway runs: nobody else may
/// be given one.
fn can_be_asked(server: &Server, call: &Call, exchange: &Exchange, is_public: bool) -> bool {
    let Transport::Remote(spec) = &server.transport else { return false };
    let can = |call: &Call| {
        let caller = call.caller.as_ref()?;
        caller.capabilities.path(&["elicitation", "url"])
    };
    let is_near = || {
        let requester = exchange.requester();
        requester.is_some_and(|who| who.is_near() && (who.address.is_none() || !is_public))
    };
    spec.sign_in.is_some() && !spec.has_authorization() && can(call).is_some() && is_near()
}

impl Waiting {
    fn begin(self, outer: Exchange) {
        let Some(gateway) = self.gateway.upgrade() else { return outer.fail(self.fault) };
        // It works on nothing while it waits: whoever takes the call back finds it so at the end.
        gateway.fleet.tasks().spawn_background(async move { self.run(outer).await });
    }

    async fn run(self, outer: Exchange) {
        let retries = self.call.caller.as_ref().is_some_and(|caller| caller.retries);
        let is_signed_in = match outer.client() {
            // Who comes back for each answer is asked by each call.
            _ if retries => self.ask(&outer.asker(), true).await,
            None => self.ask(&outer.asker(), false).await,
            Some(client) => self.ask_once(client, &outer.asker()).await,
        };
        match is_signed_in && !outer.is_cancelled() {
            true => self.upstream.send(self.call, outer),
            false => outer.fail(self.fault),
        }
    }

    /// Asks the client unless another of its calls has, and waits for what comes of it.
    async fn ask_once(&self, client: ClientId, asker: &CallHandle<dyn Sink>) -> bool {
        let Some(gateway) = self.gateway.upgrade() else { return false };
        let key = (client, self.server.key.clone());
        let (tell, joined) = {
            let mut asked = gateway.asked_to_sign_in.0.locked();
            match asked.get(&key) {
                Some(underway) => (None, underway.clone()),
                None => {
                    let (tell, joined) = watch::channel(None);
                    asked.insert(key.clone(), joined.clone());
                    (Some(tell), joined)
                }
            }
        };
        let Some(tell) = tell else {
            let mut joined = joined;
            return joined.wait_for(Option::is_some).await.is_ok_and(|ended| *ended == Some(true));
        };
        // Forgotten also where this call is let go of in the middle.
        let forget = Forget { gateway: Arc::downgrade(&gateway), key };
        drop(gateway);
        let is_signed_in = self.ask(asker, false).await;
        tell.send_replace(Some(is_signed_in));
        drop(forget);
        is_signed_in
    }

    /// Asks the client, and waits until somebody has signed in; false where nobody does.
    async fn ask(&self, asker: &CallHandle<dyn Sink>, retries: bool) -> bool {
        let Some(logins) = self.gateway.upgrade().and_then(|gateway| gateway.fleet.logins().cloned()) else {
            return false;
        };
        let Ok(mut login) = logins.open(&self.server).await else { return false };
        let id = elicitation_id();
        loop {
            let (exchange, answer) = Exchange::answered();
            asker.ask(self.question(&login, &id), exchange);
            let is_accepted = answer.await.is_ok_and(|reply| accepts(&reply));
            if !is_accepted {
                return false;
            }
            let patience = if retries { HOLD } else { PATIENCE };
            match timeout(patience, login.ended()).await {
                Ok(ended) => {
                    if !retries {
                        asker.notice(notification::ELICITATION_COMPLETE, Some(complete(&id)));
                    }
                    return ended.is_ok();
                }
                Err(_) if retries => {}
                Err(_) => return false,
            }
        }
    }

    fn question(&self, login: &OpenLogin, id: &str) -> Call {
        let mut params = RawObject::default();
        params.set("mode", Raw::from_static(r#""url""#));
        params.set("elicitationId", Raw::string(id));
        let message = format!(
            "Server '{}' wants you to sign in at {}. The call goes on when you have.",
            self.server.display_name, login.host
        );
        params.set("message", Raw::string(&message));
        params.set("url", Raw::string(&login.url));
        Call::new(Method::Elicit, Some(params.into_raw()))
    }
}

/// Lets the next call ask again.
struct Forget {
    gateway: Weak<Gateway>,
    key: (ClientId, ServerKey),
}

impl Drop for Forget {
    fn drop(&mut self) {
        if let Some(gateway) = self.gateway.upgrade() {
            gateway.asked_to_sign_in.0.locked().remove(&self.key);
        }
    }
}

fn accepts(reply: &Reply) -> bool {
    let Ok(Answer::Result { body, .. }) = reply else { return false };
    let action = body.get("action");
    action.as_ref().and_then(|action| action.to_text()).as_deref() == Some("accept")
}

fn complete(id: &str) -> Raw {
    let mut params = RawObject::default();
    params.set("elicitationId", Raw::string(id));
    params.into_raw()
}

/// Returns an id that is its own; it need not be secret.
fn elicitation_id() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}
