//! Whose affair it is what a server says without naming a call: one client's, or in doubt nobody's (H3, M13).

use expect_test::expect;
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::time::Instant;

use super::*;
use crate::connection::deadlines::HARD_LIMIT;

const DECLINED: &str = "cannot be told whose call it belongs to";
const LOG: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}"#;

impl Wire {
    /// Asks a question and returns whether it was declined.
    fn is_declined(&self, id: &str) -> bool {
        written(&self.connection);
        self.question(id);
        written(&self.connection).iter().any(|line| line.contains(DECLINED))
    }

    fn end(&self, id: &str) {
        self.answer(id, "{}");
    }
}

fn call_in(wire: &Wire, client: u64) -> (Asked, String) {
    written(&wire.connection);
    let asked = call_of(wire, client);
    (asked, wire.ids().remove(0))
}

// H3: A's call waits for an answer, B calls, and A's call asks again
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_an_answer_may_ask_again() {
    let wire = wire("");
    let (first, _) = call_in(&wire, 1);
    wire.question("1");
    let open = first.questions();
    assert_eq!(open.len(), 1);
    tokio::time::sleep(SECOND).await;
    let (second, _) = call_in(&wire, 2);
    tokio::time::sleep(SECOND).await;
    written(&wire.connection);
    wire.question("2");
    expect![[r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"The client does not support `sampling/createMessage` while it cannot be told whose call it belongs to, as several clients share this server; `shared: false` in the config of 's' gives each client a process of its own"}}"#]]
    .assert_eq(&written(&wire.connection).join("\n"));
    assert_eq!((first.questions().len(), second.questions().len()), (0, 0));
}

// H3
#[tokio::test(start_paused = true)]
async fn whoever_called_since_the_oldest_call_was_written_may_be_meant() {
    let wire = wire("");
    let (first, a) = call_in(&wire, 1);
    let (_other, b) = call_in(&wire, 2);
    assert!(wire.is_declined("1"), "both are in flight");
    wire.end(&b);
    assert!(wire.is_declined("2"), "the other was in flight beside it");
    let (again, _) = call_in(&wire, 1);
    assert!(wire.is_declined("3"), "the oldest call is the same");
    wire.end(&a);
    assert!(!wire.is_declined("4"), "since the oldest was written, nobody else was there");
    assert_eq!((first.questions().len(), again.questions().len()), (0, 1));
    let (other, _) = call_in(&wire, 2);
    assert!(wire.is_declined("5"));
    again.flight.cancel(None);
    assert!(wire.is_declined("6"), "the server may go on with what was cancelled");
    assert_eq!(other.questions().len(), 0);
}

// H3: late questions of calls that were cancelled or timed out
#[tokio::test(start_paused = true)]
async fn a_server_may_go_on_with_a_call_that_nobody_waits_for() {
    for is_cancelled in [true, false] {
        let wire = wire("");
        let (gone, a) = call_in(&wire, 1);
        if is_cancelled {
            gone.flight.cancel(None);
        } else {
            tokio::time::sleep(61 * SECOND).await;
        }
        written(&wire.connection);
        wire.question("1");
        assert_eq!(wire.host.questions().len(), 1, "the host knows whether it is the only client's");
        let (next, b) = call_in(&wire, 2);
        assert!(wire.is_declined("2"));
        wire.end(&b);
        assert!(wire.is_declined("3"), "the last call was another's");
        // The late answer of the one says that the server is done with it.
        let (third, _) = call_in(&wire, 2);
        wire.end(&a);
        assert!(!wire.is_declined("4"));
        assert_eq!((next.questions().len(), third.questions().len()), (0, 1));
    }
}

// H3
#[tokio::test(start_paused = true)]
async fn no_server_is_thought_to_go_on_for_longer_than_a_call_may_take() {
    let wire = wire("");
    call_in(&wire, 1).0.flight.cancel(None);
    tokio::time::sleep(HARD_LIMIT - SECOND).await;
    let _next = call_in(&wire, 2);
    assert!(wire.is_declined("1"));
    tokio::time::sleep(2 * SECOND).await;
    assert!(!wire.is_declined("2"));
    // However many were cancelled.
    for client in 10..2_000 {
        call_in(&wire, client).0.flight.cancel(None);
    }
    assert!(wire.is_declined("3"));
}

// H3: nothing changes where all calls are one client's
#[tokio::test(start_paused = true)]
async fn the_only_client_is_asked_whatever_else_is_in_flight() {
    let host = Arc::new(FakeHost::for_one());
    let connection = connection("", &host);
    let wire = Wire { connection, host, _keeper: JoinSet::new() };
    let (first, _) = call_in(&wire, 1);
    let (second, _) = call_in(&wire, 2);
    first.flight.cancel(None);
    assert!(!wire.is_declined("1"));
    assert_eq!(second.questions().len(), 1);
    wire.receive(LOG);
    assert_eq!(wire.host.notices(), [r#"notifications/message {"data":1}"#]);
}

// H3: a second window comes to share what was one client's
#[tokio::test(start_paused = true)]
async fn what_was_one_clients_is_in_doubt_once_another_shares_it() {
    let host = Arc::new(FakeHost::for_one());
    let connection = connection("", &host);
    let wire = Wire { connection, host, _keeper: JoinSet::new() };
    let (early, a) = call_in(&wire, 1);
    let (gone, b) = call_in(&wire, 1);
    gone.flight.cancel(None);
    wire.connection.widen();
    assert!(!wire.is_declined("1"), "so far only the first has called");
    let (second, c) = call_in(&wire, 2);
    assert!(wire.is_declined("2"));
    wire.receive(LOG);
    assert_eq!(wire.host.notices(), [""; 0], "it may be either's");
    wire.end(&a);
    assert!(wire.is_declined("3"), "the first was in flight beside it");
    wire.end(&c);
    let (third, _) = call_in(&wire, 2);
    assert!(wire.is_declined("4"), "the server may go on with what the first has cancelled");
    wire.end(&b);
    assert!(!wire.is_declined("5"));
    assert_eq!((early.questions().len(), second.questions().len(), third.questions().len()), (1, 0, 1));
}

// H3
#[tokio::test(start_paused = true)]
async fn outside_any_call_it_is_nobodys_until_somebody_calls() {
    let host = Arc::new(FakeHost::for_one());
    let connection = connection("", &host);
    let wire = Wire { connection, host, _keeper: JoinSet::new() };
    let (_, a) = call_in(&wire, 1);
    wire.end(&a);
    wire.connection.widen();
    assert!(wire.is_declined("1"));
    wire.receive(r#"{"jsonrpc":"2.0","id":2,"method":"roots/list"}"#);
    assert_eq!(wire.host.questions().len(), 1, "where everybody's projects are may be told");
    let (_, b) = call_in(&wire, 2);
    wire.end(&b);
    assert!(!wire.is_declined("3"));
}

// M13
#[tokio::test(start_paused = true)]
async fn a_log_line_is_told_to_whoever_it_must_belong_to() {
    let wire = wire("");
    let heard = |who: &Asked| who.notices().len();
    wire.receive(LOG);
    assert_eq!(
        wire.host.notices().len(),
        1,
        "nobody has called yet: the host knows whether there is only one"
    );
    let curious = |client| {
        let (exchange, asked) = Asked::open_by(ClientId(client), 60 * SECOND, true);
        assert!(wire.connection.send(Call::new(Method::ToolsCall, Some(raw("{}"))), exchange).is_ok());
        (asked, wire.ids().remove(0))
    };
    let (first, a) = curious(1);
    wire.receive(LOG);
    assert_eq!((heard(&first), wire.host.notices().len()), (1, 0), "it is in the call and nobody else's");
    let (second, b) = curious(2);
    wire.receive(LOG);
    assert_eq!((heard(&first), heard(&second), wire.host.notices().len()), (0, 0, 0), "it may be either's");
    wire.end(&a);
    wire.receive(LOG);
    assert_eq!((heard(&second), wire.host.notices().len()), (0, 0), "it may be late");
    wire.end(&b);
    wire.receive(LOG);
    assert_eq!(
        wire.host.notices(),
        [r#"Only { last_caller: Some(ClientId(2)) } notifications/message {"data":1}"#]
    );
}

// M13: a client with a session is told by its session, which knows how much it wants to hear
#[tokio::test(start_paused = true)]
async fn a_log_line_in_the_call_of_a_session_is_that_session_s() {
    let wire = wire("");
    let (exchange, asked) = Asked::open_in_session(ClientId(7), 60 * SECOND);
    assert!(wire.connection.send(Call::new(Method::ToolsCall, Some(raw("{}"))), exchange).is_ok());
    wire.receive(LOG);
    wire.receive(r#"{"jsonrpc":"2.0","method":"notifications/odd"}"#);
    assert_eq!(asked.notices(), [""; 0]);
    assert_eq!(
        wire.host.notices(),
        [r#"Client(ClientId(7)) notifications/message {"data":1}"#, "Client(ClientId(7)) notifications/odd"]
    );
}

// M13: what else a server says may be one client's affair
#[tokio::test(start_paused = true)]
async fn the_end_of_a_visit_is_told_to_whoever_made_it() {
    let wire = wire("");
    let (first, a) = call_in(&wire, 1);
    wire.receive(
        r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","elicitationId":"e1","url":"https://x"}}"#,
    );
    assert_eq!(first.questions().len(), 1);
    wire.end(&a);
    let (_second, b) = call_in(&wire, 2);
    wire.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":{b},"error":{{"code":-32042,"message":"m","data":{{"elicitations":[{{"mode":"url","elicitationId":"e2"}}]}}}}}}"#
    ));
    let _both = (call_of(&wire, 1), call_of(&wire, 2));
    for id in ["e1", "e2", "e2", "e3"] {
        wire.receive(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{{"elicitationId":"{id}"}}}}"#
        ));
    }
    assert_eq!(
        wire.host.notices(),
        [
            r#"Client(ClientId(1)) notifications/elicitation/complete {"elicitationId":"e1"}"#,
            r#"Client(ClientId(2)) notifications/elicitation/complete {"elicitationId":"e2"}"#
        ]
    );
}

#[derive(Debug, Clone)]
enum Step {
    Send(u64),
    Answer(Index),
    Cancel(Index),
    /// An answer to what was cancelled.
    Late(Index),
    Pass,
    Ask,
}

fn a_step() -> impl Strategy<Value = Step> {
    let index = || any::<Index>();
    prop_oneof![
        6 => (1..4u64).prop_map(Step::Send),
        6 => index().prop_map(Step::Answer),
        1 => index().prop_map(Step::Cancel),
        1 => index().prop_map(Step::Late),
        1 => Just(Step::Pass),
        8 => Just(Step::Ask),
    ]
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Open,
    Answered(usize),
    Abandoned(usize, Instant),
}

/// A call as it was: of whom, from which step, to which.
struct Told {
    asked: Asked,
    id: String,
    client: u64,
    begun: usize,
    end: End,
}

/// Returns the client a question at this moment can only be for, by looking through all that ever was.
fn meant(told: &[Told]) -> Option<u64> {
    let open: Vec<&Told> = told.iter().filter(|one| one.end == End::Open).collect();
    let oldest = open.iter().map(|one| one.begun).min()?;
    let client = open[0].client;
    let beside = |one: &Told| match one.end {
        End::Open => true,
        End::Answered(at) => at > oldest,
        End::Abandoned(at, when) => at > oldest || when.elapsed() < HARD_LIMIT,
    };
    told.iter().all(|one| one.client == client || !beside(one)).then_some(client)
}

proptest! {
    // H3: whatever the order, a question is put to whom it can only be for, and to nobody else
    #[test]
    fn no_question_goes_astray(steps in prop::collection::vec(a_step(), 0..80)) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let wire = wire("");
            let mut told: Vec<Told> = Vec::new();
            let pick = |told: &[Told], index: Index, is: fn(&End) -> bool| {
                let all: Vec<usize> = (0..told.len()).filter(|at| is(&told[*at].end)).collect();
                (!all.is_empty()).then(|| all[index.index(all.len())])
            };
            let is_open = |end: &End| *end == End::Open;
            for (now, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Send(client) => {
                        written(&wire.connection);
                        let (exchange, asked) = Asked::open_by(ClientId(client), 9_000 * SECOND, false);
                        assert!(wire.connection.send(Call::new(Method::ToolsCall, None), exchange).is_ok());
                        let id = wire.ids().remove(0);
                        told.push(Told { asked, id, client, begun: now, end: End::Open });
                    }
                    Step::Answer(index) => {
                        if let Some(at) = pick(&told, index, is_open) {
                            wire.end(&told[at].id);
                            told[at].end = End::Answered(now);
                        }
                    }
                    Step::Cancel(index) => {
                        if let Some(at) = pick(&told, index, is_open) {
                            told[at].asked.flight.cancel(None);
                            told[at].end = End::Abandoned(now, Instant::now());
                        }
                    }
                    Step::Late(index) => {
                        if let Some(at) = pick(&told, index, |end| matches!(end, End::Abandoned(..))) {
                            wire.end(&told[at].id);
                            let End::Abandoned(ended, _) = told[at].end else { continue };
                            // When it left our table counts, not when the server was done.
                            told[at].end = End::Answered(ended);
                        }
                    }
                    Step::Pass => tokio::time::sleep(HARD_LIMIT / 3).await,
                    Step::Ask => {
                        wire.question(&now.to_string());
                        wire.host.questions();
                        let asked: Vec<u64> = told
                            .iter()
                            .flat_map(|one| one.asked.questions().into_iter().map(|_| one.client))
                            .collect();
                        assert_eq!(asked, Vec::from_iter(meant(&told)), "step {now}");
                    }
                }
            }
        });
    }
}
