//! Calls that the server makes a task of, for askers who know nothing of tasks: we ask after it until it is done.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use manifold_engine::Exchange;
use manifold_protocol::dialect::modern::{self, rounds::InputRequired};
use manifold_protocol::{Answer, Call, Era, Failure, Fault, Mark, Method, Raw, RawObject, Reply};
use tokio::time::sleep;

use crate::connection::Connection;
use crate::connection::continuation::Stage;
use crate::connection::deadlines::HARD_LIMIT;
use crate::connection::table::{Origin, Pending};

const USUAL_INTERVAL: Duration = Duration::from_millis(500);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// How long the server may take to say how a task is doing.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns whether a call must be made as a task, and is not.
pub(super) fn must_be_task(connection: &Connection, call: &Call) -> bool {
    let known = connection.lists.tools.facts.load();
    let Some(known) = known.as_ref() else { return false };
    call.method == Method::ToolsCall
        && call.text_param("name").is_some_and(|name| known.tasked.contains(&name))
        && call.params.as_ref().is_some_and(|params| params.get("task").is_none())
}

/// A task as its follower sees it.
struct Followed {
    connection: Arc<Connection>,
    /// The call it began as.
    id: u64,
    call: Call,
    task: String,
    /// Whose rules for tasks hold.
    era: Era,
    /// Questions that have been answered; the server may list them until it has taken the answer.
    answered: HashSet<String>,
}

impl Connection {
    /// Asks after a task until it is done, and answers the call it began as.
    pub(super) fn follow_task(&self, id: u64, task: Raw, era: Era) {
        let name = task.get("taskId").and_then(|task| Some(task.to_text()?.into_owned()));
        let Some(name) = name else {
            let reason = "it made a task of the call, but one without a `taskId`".to_owned();
            let fault = Fault::Malformed { server: self.id().to_owned(), reason };
            return self.finish_kept(id, Err(fault.into()));
        };
        let Some(mut left) = self.park(id, Stage::Task(name.clone())) else { return };
        let call = self.lock().get(id).and_then(|pending| Some(pending.kept.as_ref()?.call.clone()));
        let (Some(connection), Some(call)) = (self.me.upgrade(), call) else { return };
        let mut followed = Followed {
            connection: Arc::clone(&connection),
            id,
            call,
            task: name,
            era,
            answered: HashSet::new(),
        };
        self.spawn(async move {
            let reply = tokio::select! {
                biased;
                reply = followed.follow(task) => reply,
                _ = &mut left => return,
            };
            connection.finish_kept(id, reply);
        });
    }

    /// Tells the server to give up a task nobody waits for.
    pub(super) fn cancel_task(&self, task: &str, pending: &Pending) {
        let caller = pending.kept.as_ref().and_then(|kept| kept.call.caller.clone());
        let call = Call { method: Method::TasksCancel, params: Some(about(task)), caller };
        self.send_as(call, Exchange::detached(), Origin::Ourselves);
    }
}

impl Followed {
    async fn follow(&mut self, first: Raw) -> Reply {
        let mut state = first;
        loop {
            sleep(self.interval(&state)).await;
            state = self.ask(Method::TasksGet, about(&self.task), PATIENCE).await?;
            self.connection.keep_alive(self.id);
            let status = state.get("status");
            match status.as_ref().and_then(|status| status.to_text()).as_deref() {
                Some("cancelled") => return Err(self.refused("the task was cancelled").into()),
                Some(status) if self.era == Era::Modern => match status {
                    "completed" => return self.result(&state),
                    "failed" => return self.error(&state),
                    "input_required" => self.answer(&state).await?,
                    _ => {}
                },
                // The result waits there, and so do the server's questions (2025-11-25, tasks).
                Some("completed" | "failed" | "input_required") => {
                    let result = self.ask(Method::TasksResult, about(&self.task), HARD_LIMIT).await?;
                    return Ok(result.into());
                }
                Some(_) => {}
                None => {
                    let server = self.connection.id().to_owned();
                    let reason = "it does not say how the task is doing".to_owned();
                    return Err(Fault::Malformed { server, reason }.into());
                }
            }
        }
    }

    fn interval(&self, state: &Raw) -> Duration {
        let key = match self.era {
            Era::Legacy => "pollInterval",
            Era::Modern => "pollIntervalMs",
        };
        let wanted = state.get(key).and_then(|interval| interval.u64()).map(Duration::from_millis);
        wanted.unwrap_or(USUAL_INTERVAL).clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL)
    }

    /// Sends a request about the task, in the name of whoever made the call.
    async fn ask(&self, method: Method, params: Raw, patience: Duration) -> Result<Raw, Failure> {
        let call = Call { method, params: Some(params), caller: self.call.caller.clone() };
        self.connection.request_call(call, Origin::For(self.id), patience).await
    }

    fn result(&self, state: &Raw) -> Reply {
        let Some(result) = state.get("result") else {
            let server = self.connection.id().to_owned();
            let reason = "the task is completed, but has no result".to_owned();
            return Err(Fault::Malformed { server, reason }.into());
        };
        let mark = modern::mark_of(&result).unwrap_or(Mark::None);
        Ok(Answer::marked(result, mark))
    }

    fn error(&self, state: &Raw) -> Reply {
        Err(match state.get("error") {
            Some(error) => Failure::Peer(error),
            None => {
                let message = state.get("statusMessage");
                let message = message.as_ref().and_then(|message| message.to_lossy_text());
                self.refused(&format!("the task failed: {}", message.unwrap_or_default())).into()
            }
        })
    }

    /// Brings what the task asks to the asker of the call, and the answers back.
    async fn answer(&mut self, state: &Raw) -> Result<(), Failure> {
        let Some(round) = InputRequired::read(state) else { return Ok(()) };
        let open: Vec<_> =
            round.questions.into_iter().filter(|(key, _)| !self.answered.contains(key)).collect();
        if open.is_empty() {
            return Ok(());
        }
        let answers = match self.connection.ask_all(self.id, open).await {
            Ok(answers) => answers,
            Err(fault) => {
                // Nobody will ever answer it: the task has no end of its own.
                let _ = self.ask(Method::TasksCancel, about(&self.task), PATIENCE).await;
                return Err(fault.into());
            }
        };
        let mut responses = RawObject::default();
        for (key, answer) in answers {
            responses.set(&key, answer);
            self.answered.insert(key);
        }
        let mut params = about(&self.task).object().unwrap_or_default();
        params.set("inputResponses", responses.into_raw());
        self.ask(Method::TasksUpdate, params.into_raw(), PATIENCE).await?;
        Ok(())
    }

    fn refused(&self, reason: &str) -> Fault {
        let tool = self.connection.tool_of(self.id);
        Fault::Refused { server: self.connection.id().to_owned(), tool, reason: reason.to_owned() }
    }
}

pub(super) fn about(task: &str) -> Raw {
    let mut params = RawObject::default();
    params.set("taskId", Raw::string(task));
    params.into_raw()
}
