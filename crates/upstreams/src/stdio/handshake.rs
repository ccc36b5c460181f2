//! The first words with a server on a pipe, which nobody has told us the era of.

use std::sync::Arc;
use std::time::Duration;

use manifold_config::Server;
use manifold_engine::{ClientFacts, Host};
use manifold_protocol::dialect::{ServerFacts, legacy, modern};
use manifold_protocol::{Era, Failure, Fault, Method, Raw, Revision, notification};
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, warn};

use crate::connection::{Connection, Dialect};
use crate::era::{self, Found, Plan, Word};
use crate::logs::LogRing;

/// Silence is no verdict: after this long, the old greeting is said as well.
const SILENCE: Duration = Duration::from_secs(2);
/// A server that was modern is given more time: the old greeting may end it.
const LONG_SILENCE: Duration = Duration::from_secs(10);

/// How long a server that has answered the new way may take over the old greeting as well.
const SECOND_WORD: Duration = Duration::from_millis(500);
/// How long one may take over it that has said it knows it.
const KNOWN_WORD: Duration = Duration::from_secs(5);
/// How soon a server goes that goes for it.
const LAST_BREATH: Duration = Duration::from_millis(100);

/// What it takes to shake hands.
pub(super) struct Handshake<'l> {
    pub(super) server: &'l Server,
    pub(super) host: &'l Arc<dyn Host>,
    pub(super) logs: &'l LogRing,
    pub(super) connection: &'l Connection,
    /// When patience with the whole start is over.
    pub(super) deadline: Instant,
}

/// Why no hands were shaken.
#[derive(Debug)]
pub(super) enum Unmet {
    /// It must be started anew and met by this plan.
    Again(Plan),
    Failed(Fault),
}

type Reply = Result<Raw, Failure>;

impl Handshake<'_> {
    pub(super) async fn shake(&self, plan: Plan) -> Result<(Found, ServerFacts), Unmet> {
        let facts = self.facts();
        match plan {
            Plan::Only(Era::Legacy) => match self.old_greeting(&facts).await {
                Ok(said) => Ok(self.meet_legacy(said)),
                Err(Unmet::Again(_)) => {
                    Err(self.failed("it speaks only the revisions after sessions; its `era` is wrong"))
                }
                Err(failed) => Err(failed),
            },
            Plan::Remembered(Era::Legacy) => {
                self.old_greeting(&facts).await.map(|said| self.meet_legacy(said))
            }
            Plan::Only(Era::Modern) => {
                let reply = self.discover(&facts).await;
                let word = self.word(&reply).map_err(|unmet| match unmet {
                    Unmet::Again(_) => self.failed("it ended at the first question"),
                    failed => failed,
                });
                match word? {
                    Word::Modern(said) | Word::Dual(said) => Ok(self.meet_modern(said)),
                    Word::Foreign(why) => Err(self.failed(&why)),
                    Word::Legacy => Err(match reply {
                        Err(failure) => self.refused(failure),
                        Ok(_) => self.failed("it does not speak 2026-07-28"),
                    }),
                }
            }
            Plan::Probe => self.probe(&facts, SILENCE).await,
            Plan::Remembered(Era::Modern) => {
                self.probe(&facts, LONG_SILENCE.min(self.server.start_timeout / 2)).await
            }
        }
    }

    /// Asks in the new way; where that is not understood, greets in the old.
    async fn probe(&self, facts: &ClientFacts, silence: Duration) -> Result<(Found, ServerFacts), Unmet> {
        let discovery = self.discover(facts);
        tokio::pin!(discovery);
        let first = tokio::select! {
            biased;
            reply = &mut discovery => Some(reply),
            () = sleep(silence) => None,
        };
        match first.map(|reply| self.word(&reply)).transpose()? {
            Some(Word::Modern(said)) => return Ok(self.meet_modern(said)),
            Some(Word::Dual(said)) => return self.meet_both(said, self.old_greeting(facts)).await,
            Some(Word::Foreign(why)) => return Err(self.failed(&why)),
            Some(Word::Legacy) => return self.old_greeting(facts).await.map(|said| self.meet_legacy(said)),
            None => {
                debug!(server = %self.server.key.id, "no answer to the first question; greeting the old way")
            }
        }
        let greeting = self.old_greeting(facts);
        tokio::pin!(greeting);
        // Whichever it understands decides, in whatever order it answers.
        let said = tokio::select! {
            biased;
            greeted = &mut greeting => match greeted {
                // It will still answer what it was asked first, or go.
                Err(Unmet::Again(plan)) => match self.word(&discovery.await) {
                    Ok(Word::Modern(said) | Word::Dual(said)) => said,
                    Ok(Word::Foreign(why)) => return Err(self.failed(&why)),
                    Ok(Word::Legacy) | Err(_) => return Err(Unmet::Again(plan)),
                },
                // It may have answered both at once.
                Ok(greeted) => return match timeout(Duration::ZERO, &mut discovery).await {
                    Ok(Ok(result)) => match era::read_result(&result) {
                        Word::Dual(said) => Ok(self.speak_both(said, &greeted)),
                        _ => Ok(self.meet_legacy(greeted)),
                    },
                    _ => Ok(self.meet_legacy(greeted)),
                },
                Err(failed) => return Err(failed),
            },
            reply = &mut discovery => match self.word(&reply) {
                Ok(Word::Modern(said)) => {
                    let _ = timeout(SECOND_WORD, greeting).await;
                    said
                }
                Ok(Word::Dual(said)) => return self.meet_both(said, greeting).await,
                Ok(Word::Foreign(why)) => return Err(self.failed(&why)),
                Ok(Word::Legacy) => return greeting.await.map(|said| self.meet_legacy(said)),
                // Both were on their way when it went: what it said to the second tells more.
                Err(unmet) => return match greeting.await {
                    Err(Unmet::Again(plan)) => Err(Unmet::Again(plan)),
                    _ => Err(unmet),
                },
            },
        };
        // The old greeting is on its way, and not every modern server survives it.
        match timeout(LAST_BREATH, self.connection.silent()).await {
            Ok(()) => Err(Unmet::Again(Plan::Only(Era::Modern))),
            Err(_) => Ok(self.meet_modern(said)),
        }
    }

    async fn discover(&self, facts: &ClientFacts) -> Reply {
        let params = era::discover_params(facts);
        self.connection.request(Method::Discover, Some(params), self.patience()).await
    }

    fn patience(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Reads the answer to the new question. No answer at all is an error here; it may call for a new start.
    fn word(&self, reply: &Reply) -> Result<Word, Unmet> {
        match reply {
            Ok(result) => Ok(era::read_result(result)),
            Err(Failure::Peer(error)) => Ok(era::read_error(error)),
            // Some servers end at a request they do not know.
            Err(Failure::Fault(Fault::Died { .. })) => Err(Unmet::Again(Plan::Only(Era::Legacy))),
            // An answer, if a bad one: it did not understand.
            Err(Failure::Fault(Fault::Malformed { .. })) => Ok(Word::Legacy),
            Err(failure) => Err(self.refused(failure.clone())),
        }
    }

    fn meet_modern(&self, said: ServerFacts) -> (Found, ServerFacts) {
        self.connection.speak(Dialect::modern(&said, None));
        (Found::Modern, said)
    }

    /// Meets a server that names revisions of both eras: if it takes the old greeting as well, its one process serves
    /// both. That comes before anything else is asked, which some (rmcp) take for the choice of an era.
    async fn meet_both(
        &self,
        said: ServerFacts,
        greeting: impl Future<Output = Result<ServerFacts, Unmet>>,
    ) -> Result<(Found, ServerFacts), Unmet> {
        let patience = KNOWN_WORD.min(self.patience());
        match timeout(patience, greeting).await {
            Ok(Ok(greeted)) => Ok(self.speak_both(said, &greeted)),
            // Its word was wrong; it is held to the one it has given first.
            Ok(Err(_)) | Err(_) => match timeout(LAST_BREATH, self.connection.silent()).await {
                Ok(()) => Err(Unmet::Again(Plan::Only(Era::Modern))),
                Err(_) => Ok(self.meet_modern(said)),
            },
        }
    }

    fn speak_both(&self, said: ServerFacts, greeted: &ServerFacts) -> (Found, ServerFacts) {
        self.connection.speak(Dialect::dual(&said, None));
        self.connection.settle_session(true, Some(&greeted.capabilities));
        (Found::Dual, said)
    }

    /// Shakes hands as the revisions with sessions do.
    async fn old_greeting(&self, facts: &ClientFacts) -> Result<ServerFacts, Unmet> {
        let params = legacy::initialize_params(facts.revision, &facts.capabilities, &facts.info);
        let patience = self.patience();
        let result = match self.connection.request(Method::Initialize, Some(params), patience).await {
            Ok(result) => result,
            Err(Failure::Peer(error)) if modern::is_modern_error(&error) => {
                return Err(Unmet::Again(Plan::Only(Era::Modern)));
            }
            Err(failure) => return Err(self.refused(failure)),
        };
        let Some(said) = legacy::read_initialize_result(&result) else {
            return Err(self.failed("its answer to the handshake has no protocolVersion"));
        };
        if Revision::parse(&said.revision).is_none() {
            warn!(server = %self.server.key.id, revision = %said.revision, "the server speaks a revision we do not know");
        }
        self.connection.notify(notification::INITIALIZED, None);
        Ok(said)
    }

    fn meet_legacy(&self, said: ServerFacts) -> (Found, ServerFacts) {
        self.connection.repeat_standing(&said.capabilities);
        (Found::Legacy, said)
    }

    /// Returns what the server is told of who asks.
    fn facts(&self) -> ClientFacts {
        let mut facts = (*self.host.client_facts()).clone();
        if !self.server.roots.is_empty() {
            let mut capabilities = facts.capabilities.object().unwrap_or_default();
            capabilities.set("roots", Raw::from_static("{}"));
            facts.capabilities = capabilities.into_raw();
        }
        facts
    }

    fn refused(&self, failure: Failure) -> Unmet {
        self.failed(&match failure {
            Failure::Peer(error) => format!("it refused the handshake: {}", error.as_str()),
            Failure::Fault(Fault::TimedOut { .. }) => {
                let log = self.logs.tail().map(|tail| format!("; its log: {tail}")).unwrap_or_default();
                let waited = self.server.start_timeout.as_millis();
                format!("no answer to the handshake within {waited} ms{log}")
            }
            Failure::Fault(Fault::Malformed { reason, .. }) => {
                format!("its answer to the handshake cannot be read: {reason}")
            }
            Failure::Fault(fault) => fault.message(),
        })
    }

    fn failed(&self, reason: &str) -> Unmet {
        let server = self.server.key.id.clone();
        Unmet::Failed(Fault::FailedToStart { server, reason: reason.to_owned() })
    }
}

#[cfg(test)]
mod tests;
