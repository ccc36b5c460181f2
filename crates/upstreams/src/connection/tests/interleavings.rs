//! Ids in flight (F10, S2-22): whatever happens in whatever order, each call gets its own answer, once, or none because
//! it was taken back.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest::sample::Index;
use tokio::time::Instant;

use super::*;

const TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug, Clone)]
enum Step {
    Send,
    Answer(Index),
    /// An answer to a call that is over: answered, cancelled or timed out.
    Late(Index),
    Unknown(u64),
    StringId(Index),
    /// Of any call there ever was, written or still waiting.
    Cancel(Index),
    Pass(Duration),
    Close,
}

fn a_step() -> impl Strategy<Value = Step> {
    let index = || any::<Index>();
    prop_oneof![
        16 => Just(Step::Send),
        16 => index().prop_map(Step::Answer),
        8 => index().prop_map(Step::Late),
        4 => any::<u64>().prop_map(Step::Unknown),
        4 => index().prop_map(Step::StringId),
        4 => index().prop_map(Step::Cancel),
        3 => (1..2_000u64).prop_map(|ms| Step::Pass(Duration::from_millis(ms))),
        1 => Just(Step::Close),
    ]
}

/// How a call must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Own,
    TimedOut,
    Cancelled,
    Died,
    /// Never sent: the connection gave it back.
    GivenBack,
}

/// The connection, and what must be true of it.
struct Model {
    wire: Wire,
    asked: Vec<(Asked, End)>,
    /// What the server has and has not answered: the id, the call and when it was written, at the latest.
    open: Vec<(String, usize, Instant)>,
    /// Ids that are over.
    past: Vec<String>,
    seen: HashMap<String, usize>,
    is_closed: bool,
}

impl Model {
    fn new(max: usize) -> Self {
        let wire = wire(&format!(r#","maxConcurrency":{max}"#));
        let (asked, open, past, seen) = (Vec::new(), Vec::new(), Vec::new(), HashMap::new());
        Self { wire, asked, open, past, seen, is_closed: false }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Send => self.send(),
            Step::Answer(index) if !self.open.is_empty() => {
                let (id, n, _) = self.open.remove(index.index(self.open.len()));
                self.wire.answer(&id, &n.to_string());
                self.end(n, End::Own);
                self.past.push(id);
            }
            Step::Late(index) if !self.past.is_empty() => {
                self.wire.answer(&self.past[index.index(self.past.len())], r#""late""#);
            }
            Step::Unknown(id) if !self.seen.contains_key(&id.to_string()) => {
                self.wire.answer(&id.to_string(), r#""unknown""#);
            }
            Step::StringId(index) if !self.open.is_empty() => {
                let id = &self.open[index.index(self.open.len())].0;
                self.wire.answer(&format!(r#""{id}""#), r#""string""#);
            }
            Step::Cancel(index) if !self.asked.is_empty() => self.cancel(index.index(self.asked.len())),
            Step::Pass(time) => tokio::time::sleep(time).await,
            Step::Close => self.close(),
            _ => {}
        }
    }

    fn send(&mut self) {
        let (exchange, one) = Asked::open(TIMEOUT);
        let params = raw(&format!(r#"{{"n":{}}}"#, self.asked.len()));
        let sent = self.wire.connection.send(Call::new(Method::ToolsCall, Some(params)), exchange);
        assert_eq!(sent.is_err(), self.is_closed, "a closed connection gives back what it gets");
        let end = match sent {
            Ok(()) => End::Open,
            Err((_, exchange)) => {
                // Its giver sends it elsewhere; here nobody does.
                exchange.finish(Ok(raw(r#""given back""#)));
                End::GivenBack
            }
        };
        self.asked.push((one, end));
    }

    fn cancel(&mut self, n: usize) {
        self.asked[n].0.flight.cancel(None);
        if self.asked[n].1 == End::Open {
            self.asked[n].1 = End::Cancelled;
        }
        if let Some(at) = self.open.iter().position(|(_, open, _)| *open == n) {
            self.past.push(self.open.remove(at).0);
        }
    }

    fn close(&mut self) {
        let mut unsent = HashSet::new();
        for (call, exchange) in self.wire.connection.close("it ended") {
            let n = call.params.and_then(|params| params.get("n")?.u64()).unwrap() as usize;
            assert!(unsent.insert(n), "{n} was given back twice");
            assert!(!self.seen.values().any(|written| *written == n), "{n} was written and given back");
            // One that was cancelled meanwhile stays silent.
            exchange.finish(Ok(raw(r#""given back""#)));
            if self.asked[n].1 == End::Open {
                self.asked[n].1 = End::GivenBack;
            }
        }
        for (id, n, _) in std::mem::take(&mut self.open) {
            self.end(n, End::Died);
            self.past.push(id);
        }
        self.is_closed = true;
    }

    fn end(&mut self, n: usize, end: End) {
        assert_eq!(std::mem::replace(&mut self.asked[n].1, end), End::Open, "{n} ended twice");
    }

    /// Reads what was written to the server: calls, and what became too late.
    fn read(&mut self) {
        for line in written(&self.wire.connection) {
            if line.contains(r#""method":"ping""#) {
                continue;
            }
            let message = raw(&line);
            if message.get("id").is_some() {
                let n = message.path(&["params", "n"]).unwrap().u64().unwrap() as usize;
                let id = id_of(&line).to_string();
                assert!(self.seen.insert(id.clone(), n).is_none(), "the number {id} was used twice");
                // Within one pause a call may be written and time out, but not be cancelled by its asker.
                assert_eq!(self.asked[n].1, End::Open, "{n} was written when it was over");
                self.open.push((id, n, Instant::now()));
            } else if message.path(&["params", "reason"]).is_some_and(|why| why.as_str() == r#""timed out""#)
            {
                let id = message.path(&["params", "requestId"]).unwrap().to_string();
                let at = self.open.iter().position(|(open, ..)| *open == id).unwrap();
                let (id, n, _) = self.open.remove(at);
                self.end(n, End::TimedOut);
                self.past.push(id);
            }
        }
        for (_, n, since) in &self.open {
            assert!(since.elapsed() <= TIMEOUT + SECOND / 100, "{n} is overdue");
        }
    }

    fn check_answers(&mut self) {
        for (n, (one, end)) in self.asked.iter_mut().enumerate() {
            let answer = one.answer();
            let fits = match end {
                End::Own => answer == Some(n.to_string()),
                End::TimedOut => answer.as_ref().is_some_and(|one| one.starts_with("fault -32002")),
                End::Died => answer.as_ref().is_some_and(|one| one.starts_with("fault -32603")),
                End::GivenBack => answer.as_deref() == Some(r#""given back""#),
                End::Cancelled | End::Open => answer.is_none(),
            };
            assert!(fits, "call {n} ended as {end:?} with {answer:?}");
        }
    }
}

proptest! {
    // A second answer to one call makes the fake's sink panic.
    #[test]
    fn answers_never_go_astray(steps in prop::collection::vec(a_step(), 0..120), max in 1..5usize) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut model = Model::new(max);
            for step in steps {
                model.take(step).await;
                model.read();
                assert!(model.open.len() <= max);
            }
            model.close();
            assert!(model.asked.iter().all(|(_, end)| *end != End::Open), "each came to its end");
            assert!(!model.wire.connection.is_busy());
            model.check_answers();
        });
    }
}
