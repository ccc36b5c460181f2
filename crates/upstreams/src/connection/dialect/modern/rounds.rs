//! Questions in the middle of a call, where the server asks them by its answer and the asker must be asked in mid-call:
//! we ask, and send the call again with what we heard.

use std::sync::Arc;

use manifold_engine::{CallHandle, Exchange, Sink};
use manifold_protocol::dialect::modern::rounds::{InputRequired, with_answers};
use manifold_protocol::{Call, Failure, Fault, Method, Raw, Reply};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::connection::continuation::Stage;
use crate::connection::question::Resume;
use crate::connection::table::Addressed;

/// A server that asks more often is given up on.
const MAX_ROUNDS: u32 = 8;

impl Connection {
    /// Brings a round of questions to the asker of a call and sends the call again with the answers.
    pub(super) fn ask_round(&self, id: u64, round: InputRequired) {
        let rounds = {
            let mut table = self.lock();
            let Some(kept) = table.get_mut(id).and_then(|pending| pending.kept.as_mut()) else { return };
            kept.rounds += 1;
            kept.rounds
        };
        if rounds > MAX_ROUNDS {
            let why = format!("it asked {MAX_ROUNDS} times without coming to an end");
            return self.finish_kept(id, Err(self.unanswered(id, why).into()));
        }
        let asked = round.encode();
        let InputRequired { questions, state } = round;
        let state = state.map(|state| state.detached());
        if questions.is_empty() {
            return self.go_on(id, &[], state);
        }
        let Some(mut left) = self.park(id, Stage::Asking(asked)) else { return };
        let Some(me) = self.me.upgrade() else { return };
        self.spawn(async move {
            // Dropping the questions takes them back.
            let answers = tokio::select! {
                biased;
                answers = me.ask_all(id, questions) => answers,
                _ = &mut left => return,
            };
            match answers {
                Ok(answers) => me.go_on(id, &answers, state),
                Err(fault) => me.finish_kept(id, Err(fault.into())),
            }
        });
    }

    /// Asks a round anew that another program asked.
    pub(in crate::connection::dialect) fn ask_round_again(&self, id: u64, round: InputRequired) {
        if let Some(kept) = self.lock().get_mut(id).and_then(|pending| pending.kept.as_mut()) {
            kept.rounds = kept.rounds.saturating_sub(1);
        }
        self.ask_round(id, round);
    }

    fn go_on(&self, id: u64, answers: &[(String, Raw)], state: Option<Raw>) {
        self.send_again(id, |kept| {
            let params = with_answers(kept.call.params.clone(), answers, state);
            Some(Call { params: Some(params), ..kept.call.clone() })
        });
    }

    /// Asks all of these at once; the clock of the call stands meanwhile.
    pub(in crate::connection::dialect) async fn ask_all(
        &self,
        id: u64,
        questions: Vec<(String, Call)>,
    ) -> Result<Vec<(String, Raw)>, Fault> {
        let mut asked = JoinSet::new();
        for (key, question) in questions {
            let method = question.method.clone();
            let open = self
                .ask_one(id, question)
                .ok_or_else(|| self.unanswered(id, "the call is over".to_owned()))?;
            asked.spawn(async move { (key, method, open.answered().await) });
        }
        let mut answers = Vec::new();
        while let Some(answer) = asked.join_next().await {
            let Ok((key, method, reply)) = answer else { continue };
            match reply {
                Ok(answer) => answers.push((key, answer.plain().detached())),
                Err(failure) => {
                    let why = format!("`{method}` was not answered: {}", reason(&failure));
                    return Err(self.unanswered(id, why));
                }
            }
        }
        Ok(answers)
    }

    fn ask_one(&self, id: u64, question: Call) -> Option<OpenQuestion> {
        let Ok(Addressed::Call(asked)) = self.lock().asked(Some(id)) else { return None };
        let resume = Resume::new(self.me.clone(), id);
        self.calls.sooner.notify_one();
        let (exchange, answer) = Exchange::answered();
        let open = OpenQuestion { flight: exchange.asker(), answer, _resume: resume };
        // Roots of its own in the config are the answer, whoever is calling.
        if question.method == Method::ListRoots && !self.server.roots.is_empty() {
            self.host.ask(&self.server.key, None, question, exchange);
        } else {
            asked.asker.ask(question, exchange);
        }
        Some(open)
    }

    fn unanswered(&self, id: u64, reason: String) -> Fault {
        let tool = self.tool_of(id);
        Fault::Unanswered { server: self.id().to_owned(), tool, reason }
    }
}

fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Fault(fault) => fault.message(),
        Failure::Peer(error) => {
            let message = error.get("message");
            let message = message.as_ref().and_then(|message| message.to_lossy_text());
            message.map_or_else(|| error.as_str().to_owned(), |message| message.into_owned())
        }
    }
}

/// A question put to the asker. Dropping it takes it back, if it is not answered by then.
struct OpenQuestion {
    flight: Arc<CallHandle<dyn Sink>>,
    answer: oneshot::Receiver<Reply>,
    _resume: Resume,
}

impl OpenQuestion {
    async fn answered(mut self) -> Reply {
        let lost = |_| Err(Fault::Internal("the answer was lost".to_owned()).into());
        (&mut self.answer).await.unwrap_or_else(lost)
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.flight.cancel(Some(Raw::from_static(r#""the call it belongs to is over""#)));
    }
}
