//! A connection left by one program and taken up by another, message by message.

use manifold_engine::{Exchange, Reopen, ReturnAddress};
use manifold_protocol::dialect::ServerFacts;

use super::*;
use crate::fake::lock;
use crate::handover::SavedConnection;

/// Opens every asker anew and keeps what it hears.
#[derive(Default)]
struct Returned(std::sync::Mutex<Vec<(u64, Asked)>>);

impl Reopen for Returned {
    fn reopen(&self, address: ReturnAddress) -> Option<Exchange> {
        let client: u64 = address.session.parse().unwrap();
        // Clients have other numbers in the other program.
        let (exchange, asked) = Asked::open_by(ClientId(100 + client), 10 * SECOND, false);
        lock(&self.0).push((client, asked));
        Some(exchange)
    }
}

/// Leaves a connection to another program. Returns it there, with who asks.
fn handed_over(wire: &Wire) -> (Wire, Returned) {
    let said = ServerFacts {
        revision: "2025-11-25".to_owned(),
        capabilities: raw(r#"{"tools":{}}"#),
        instructions: None,
    };
    let (saved, unwritten) = wire.connection.suspend(&said);
    assert!(unwritten.is_empty(), "the tests take what is written");
    let text = serde_json::to_string(&saved).unwrap();
    let saved: SavedConnection = serde_json::from_str(&text).unwrap();
    let (next, returned) = (super::wire(""), Returned::default());
    assert_eq!(next.connection.resume(saved, &returned), Some(said));
    (next, returned)
}

fn answers(returned: &Returned) -> Vec<(u64, Option<String>)> {
    lock(&returned.0).iter_mut().map(|(client, asked)| (*client, asked.answer())).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_keep_their_numbers_their_tokens_and_their_time() {
    let first = wire("");
    let (one, mut two) = (first.ask(r#"{"_meta":{"progressToken":"mine"}}"#), first.ask("{}"));
    let ids = first.ids();
    tokio::time::sleep(4 * SECOND).await;
    let (next, returned) = handed_over(&first);
    first.answer(&ids[0], r#""to nobody""#);

    next.progress(&ids[0]);
    assert_eq!(lock(&returned.0)[0].1.progress(), [r#"{"progressToken":"mine","progress":1}"#]);
    let new = next.ask("{}");
    let [new_id] = &next.ids()[..] else { panic!("one is written") };
    assert!(!ids.contains(new_id));
    tokio::time::sleep(7 * SECOND).await;
    let [(_, first_answer), (_, second_answer)] = &answers(&returned)[..] else { panic!("two came back") };
    assert_eq!(*first_answer, None, "its progress gave it more time");
    assert!(second_answer.as_ref().unwrap().contains("did not answer within 10000 ms"));
    next.answer(&ids[0], "1");
    next.answer(new_id, "2");
    assert_eq!(answers(&returned)[0].1.as_deref(), Some("1"));
    assert_eq!(new.answered().await, "2");
    assert_eq!(
        (two.answer(), one.progress()),
        (None, Vec::<String>::new()),
        "the first program says no more"
    );
}

// H3
#[tokio::test(start_paused = true)]
async fn a_question_of_one_of_several_clients_goes_to_nobody() {
    for (clients, is_asked) in [([1, 1], true), ([1, 2], false)] {
        let first = wire("");
        let _asked = clients.map(|client| call_of(&first, client));
        written(&first.connection);
        let (next, returned) = handed_over(&first);
        next.question(r#""q""#);
        let open: Vec<_> = lock(&returned.0).iter().flat_map(|(_, asked)| asked.questions()).collect();
        assert_eq!(open.len(), usize::from(is_asked), "{clients:?}");
        assert_eq!(written(&next.connection).len(), usize::from(!is_asked), "it is declined, or it waits");
    }
}

// H3: a call of somebody unknown, taken back before, may be what the server asks for.
#[tokio::test(start_paused = true)]
async fn what_was_taken_back_before_makes_it_ambiguous() {
    let first = wire("");
    let gone = call_of(&first, 1);
    gone.flight.cancel(None);
    written(&first.connection);
    let (next, _) = handed_over(&first);
    let later = call_of(&next, 2);
    written(&next.connection);
    next.question(r#""q""#);
    assert!(later.questions().is_empty());
    assert!(written(&next.connection)[0].contains("it cannot be told whose call it belongs to"));
}

#[tokio::test(start_paused = true)]
async fn our_own_requests_end_with_the_program_that_made_them() {
    let first = wire("");
    first.connection.order(Method::Ping, raw("{}"));
    let ids = first.ids();
    let (next, returned) = handed_over(&first);
    assert!(lock(&returned.0).is_empty());
    assert!(next.connection.is_busy(), "the server owes an answer");
    next.answer(&ids[0], "{}");
    assert!(!next.connection.is_busy());
}
