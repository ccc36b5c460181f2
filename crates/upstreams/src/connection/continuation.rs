//! Calls that are not over with their first answer: the server has questions, makes a task of it, or wants to be told
//! more. Such a call stays in the table, under its number, until its asker has the one answer.

use std::sync::Arc;

use manifold_protocol::dialect::modern;
use manifold_protocol::dialect::modern::rounds::{self, InputRequired};
use manifold_protocol::envelope::Outcome;
use manifold_protocol::{Answer, Call, Caller, Failure, Fault, Mark, Method, Raw, Reply};
use tokio::sync::oneshot;

use super::Connection;

/// What it takes to go on with a call.
pub(super) struct Continuation {
    /// As it was first made, its asker's own progress token in place.
    pub(super) call: Call,
    pub(super) rounds: u32,
    pub(super) stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// The server owes an answer.
    Written,
    /// The asker does.
    Asking,
    /// It goes on as this task of the server's.
    Task(String),
}

/// What follows an answer.
enum Step {
    Finish(Reply),
    Ask(InputRequired),
    Follow(Raw),
    DeclareTasks,
}

impl Continuation {
    pub(super) fn new(call: Call) -> Self {
        Self { call, rounds: 0, stage: Stage::Written }
    }
}

/// Returns whether a server of the newest revision may answer a method with more than a result.
pub(super) fn may_go_on(method: &Method) -> bool {
    matches!(method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead)
}

impl Connection {
    /// Takes an answer to a call that may go on.
    pub(super) fn answer_kept(&self, id: u64, outcome: Outcome) {
        match self.step(id, outcome) {
            None => self.complain("an answer that nobody waits for"),
            Some(Step::Finish(reply)) => {
                if let Some(pending) = self.take(id) {
                    pending.exchange.finish(reply);
                }
            }
            Some(Step::Ask(round)) => self.ask_round(id, round),
            Some(Step::Follow(task)) => self.follow_task(id, task),
            Some(Step::DeclareTasks) => self.send_again(id, |kept| {
                let caller = kept.call.caller.as_ref()?;
                let capabilities = modern::with_tasks(&caller.capabilities);
                kept.call.caller = Some(Arc::new(Caller { capabilities, ..(**caller).clone() }));
                Some(kept.call.clone())
            }),
        }
    }

    fn step(&self, id: u64, outcome: Outcome) -> Option<Step> {
        let table = self.lock();
        let kept = table.get(id)?.kept.as_ref().filter(|kept| kept.stage == Stage::Written)?;
        let caller = kept.call.caller.clone();
        drop(table);
        let is_modern = self.modern.get().is_some();
        let retries = caller.as_ref().is_some_and(|caller| caller.retries);
        let declares_tasks =
            || caller.as_ref().is_some_and(|caller| modern::declares_tasks(&caller.capabilities));
        // A task is the affair of an asker who knows what that is.
        let takes_tasks = || retries && declares_tasks();
        Some(match outcome {
            Outcome::Error(error)
                if is_modern && !retries && modern::wants_only_tasks(&error) && !declares_tasks() =>
            {
                Step::DeclareTasks
            }
            Outcome::Error(error) => Step::Finish(Err(Failure::Peer(error))),
            Outcome::Result(body) if !is_modern => match body.get("task") {
                Some(task) => Step::Follow(task.detached()),
                None => Step::Finish(Ok(body.into())),
            },
            Outcome::Result(body) => match self.read_result(body) {
                Ok(answer) if answer.mark() == Mark::InputRequired && !retries => {
                    let round = answer.into_body();
                    match InputRequired::read(&round) {
                        Some(round) => Step::Ask(round),
                        None => Step::Finish(Err(self.malformed("it asks for input, but for none").into())),
                    }
                }
                Ok(answer) if answer.mark() == Mark::Extension && !takes_tasks() => {
                    Step::Follow(answer.into_body().detached())
                }
                reply => Step::Finish(reply),
            },
        })
    }

    /// Reads a result of a server of the newest revision.
    pub(super) fn read_result(&self, body: Raw) -> Reply {
        match modern::mark_of(&body) {
            Some(Mark::InputRequired) => match rounds::flaw(&body) {
                None => Ok(Answer::marked(body, Mark::InputRequired)),
                Some(flaw) => Err(self.malformed(&format!("its questions cannot be read: {flaw}")).into()),
            },
            Some(mark) => Ok(Answer::marked(body, mark)),
            None => {
                let kind = body.get("resultType").unwrap_or_else(Raw::null);
                Err(self.malformed(&format!("its `resultType` is {kind}, which nobody knows")).into())
            }
        }
    }

    pub(super) fn malformed(&self, reason: &str) -> Fault {
        Fault::Malformed { server: self.id().to_owned(), reason: reason.to_owned() }
    }

    /// Lets a call rest with us. Returns what resolves once it has left the table, however that comes.
    pub(super) fn park(&self, id: u64, stage: Stage) -> Option<oneshot::Receiver<()>> {
        let mut table = self.lock();
        let pending = table.get_mut(id)?;
        pending.kept.as_mut()?.stage = stage;
        let (leave, left) = oneshot::channel();
        // Whoever carried it to the server is done.
        pending.leave = Some(leave);
        Some(left)
    }

    /// Sends a kept call again, as `change` makes it, under a new number.
    pub(super) fn send_again(&self, id: u64, change: impl FnOnce(&mut Continuation) -> Option<Call>) {
        let mut table = self.lock();
        // Cancelled or timed out meanwhile, if it is not there.
        let Some(mut pending) = table.remove(id) else { return };
        let again = pending.kept.as_mut().and_then(|kept| {
            kept.stage = Stage::Written;
            change(kept)
        });
        let number = table.next_id();
        let held = self.me.upgrade().is_some_and(|me| pending.exchange.set_canceller(me, number));
        match again {
            Some(call) if held => {
                pending.refresh();
                self.write_as(&mut table, number, call, pending);
            }
            _ => {
                // Its asker may be told of this, and must find us unlocked.
                self.refill(table);
                drop(pending);
            }
        }
    }

    /// Ends a kept call with what it came to.
    pub(super) fn finish_kept(&self, id: u64, reply: Reply) {
        if let Some(pending) = self.take(id) {
            pending.exchange.finish(reply);
        }
    }

    /// Shows that the server still works on a kept call.
    pub(super) fn keep_alive(&self, id: u64) {
        if let Some(pending) = self.lock().get_mut(id) {
            pending.refresh();
        }
    }
}
