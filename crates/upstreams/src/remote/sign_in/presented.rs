//! A sign-in as the requests to a server present it.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use manifold_config::Secret;
use manifold_engine::BoxFuture;
use manifold_http1::Fields;
use manifold_oauth::{Bearer, Challenge, Sent, SignIn, State, Verdict};
use manifold_protocol::Fault;

use super::super::credentials::{After, Credentials, Proof, Refusal};
use super::fault_of;

/// The credentials of a server one signs in to.
#[derive(Clone)]
pub(crate) struct SignedIn {
    server: Arc<str>,
    sign_in: SignIn,
    /// The header as it is written, for the token it was last written for.
    written: Arc<ArcSwapOption<Written>>,
}

struct Written {
    bearer: Arc<Bearer>,
    fields: Arc<Fields>,
}

impl SignedIn {
    pub(crate) fn new(server: &str, sign_in: SignIn) -> Self {
        Self { server: server.into(), sign_in, written: Arc::default() }
    }

    fn proof(&self, bearer: Arc<Bearer>) -> Proof {
        if let Some(written) = &*self.written.load()
            && Arc::ptr_eq(&written.bearer, &bearer)
        {
            return Proof { fields: Some(Arc::clone(&written.fields)), bearer: Some(bearer) };
        }
        // Once for each token: a server may echo it in what we repeat of its words.
        let value = Secret::passing(bearer.header.expose());
        let fields = Arc::new(Fields::default().with("authorization", value.expose()));
        self.written
            .store(Some(Arc::new(Written { bearer: Arc::clone(&bearer), fields: Arc::clone(&fields) })));
        Proof { fields: Some(fields), bearer: Some(bearer) }
    }

    fn fault(&self, state: &State) -> Fault {
        fault_of(&self.server, &self.sign_in.key().account, state)
    }

    async fn judge(self, refusal: Refusal) -> After {
        let challenge = Challenge::parse(refusal.challenges.iter().map(String::as_str));
        let sent = Sent { bearer: refusal.sent.bearer.as_deref(), is_second: refusal.is_second };
        match self.sign_in.refused(sent, refusal.status, challenge).await {
            Verdict::Resend(bearer) => After::Resend(self.proof(bearer)),
            Verdict::Failed(state) => After::Failed(self.fault(&state)),
            Verdict::Pass => After::Pass,
        }
    }
}

impl Credentials for SignedIn {
    fn current(&self) -> Option<Proof> {
        self.sign_in.current().map(|bearer| self.proof(bearer))
    }

    fn obtain(&self) -> BoxFuture<Result<Proof, Fault>> {
        let this = self.clone();
        Box::pin(async move {
            match this.sign_in.bearer().await {
                Ok(Some(bearer)) => Ok(this.proof(bearer)),
                // Nobody has asked for one yet.
                Ok(None) => Ok(Proof::default()),
                Err(state) => Err(this.fault(&state)),
            }
        })
    }

    fn let_in(&self) {
        self.sign_in.let_in();
    }

    fn refused(&self, refusal: Refusal) -> BoxFuture<After> {
        Box::pin(self.clone().judge(refusal))
    }
}
