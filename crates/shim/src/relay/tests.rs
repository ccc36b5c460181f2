#![allow(clippy::unwrap_used, reason = "this is a test")]

use manifold_protocol::framing::Frame as ClientFrame;
use manifold_rendezvous::frame::Frame;

use super::*;

/// A relay between a client and a daemon that are both this test.
struct Between {
    relay: Relay,
    page: Stages,
}

impl Between {
    fn new() -> Self {
        Self::of(Language::Mcp(None))
    }

    fn of(language: Language) -> Self {
        let (stages, memory) = Stages::new().unwrap();
        Self { relay: Relay::new(stages, language), page: Stages::open(&memory).unwrap() }
    }

    fn client(&mut self, message: &str) {
        let taken = self.relay.client_said(ClientFrame::Message(Bytes::copy_from_slice(message.as_bytes())));
        assert!(matches!(taken, Taken::Done));
    }

    fn daemon(&mut self, kind: Kind, slot: u16, payload: &str) {
        self.relay.daemon_said(Frame { kind, slot, payload: Bytes::copy_from_slice(payload.as_bytes()) });
    }

    /// Returns what was sent to the daemon since it was last asked: slot and message of each.
    fn sent(&mut self) -> Vec<(u16, String)> {
        let mut queue = self.relay.daemon_queue().split();
        let mut sent = Vec::new();
        while let Some(frame) = frame::next(&mut queue).unwrap() {
            sent.push((frame.slot, String::from_utf8(frame.payload.to_vec()).unwrap()));
        }
        sent
    }

    /// Returns what the client was told since it was last asked.
    fn told(&mut self) -> Vec<String> {
        let told = self.relay.client_queue().split();
        String::from_utf8(told.to_vec()).unwrap().lines().map(str::to_owned).collect()
    }

    /// Opens a session, as every client does first.
    fn open(&mut self) {
        self.client(INITIALIZE);
        let slot = self.sent()[0].0;
        self.daemon(
            Kind::Message,
            slot,
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
        );
        self.client(INITIALIZED);
        self.sent();
        self.told();
    }

    fn lose(&mut self) {
        self.relay.lost();
    }

    fn find(&mut self, kept_calls: bool) -> Vec<String> {
        self.relay.attached(kept_calls);
        self.sent().into_iter().map(|(_, message)| message).collect()
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn request(id: u32, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"name":"x","uri":"u:{id}"}}}}"#)
}

fn result(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

#[test]
fn messages_pass_as_they_are_and_answers_by_their_slot() {
    let mut between = Between::new();
    between.open();
    between.client(&request(5, "tools/call"));
    let sent = between.sent();
    assert_eq!(sent[0].1, request(5, "tools/call"));
    between.daemon(Kind::Message, sent[0].0, &result(5));
    assert_eq!(between.told(), [result(5)]);
    between.daemon(Kind::Message, sent[0].0, &result(5));
    assert!(between.told().is_empty(), "a second answer of one request is nobody's");
    between.daemon(Kind::Message, 0, r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
    assert_eq!(between.told().len(), 1);
}

// A6
#[test]
fn after_a_crash_reads_are_asked_again_and_calls_that_may_have_run_fail_once() {
    let mut between = Between::new();
    between.open();
    for (id, method) in
        [(2, "tools/call"), (3, "tools/call"), (4, "tools/list"), (5, "resources/read"), (6, "x/own")]
    {
        between.client(&request(id, method));
    }
    let sent = between.sent();
    for slot in [sent[0].0, sent[3].0, sent[4].0] {
        between.page.set(slot, Stage::Dispatched);
    }
    between.page.set(sent[1].0, Stage::Received);
    between.lose();
    let told = between.told();
    assert_eq!(told.len(), 2, "{told:?}");
    for (line, id) in told.iter().zip([2, 6]) {
        assert!(line.contains(&format!(r#""id":{id},"#)) && line.contains(r#""mayHaveRun":true"#), "{line}");
    }
    assert!(between.relay.wants_daemon());
    between.client(&request(7, "tools/call"));
    let again = between.find(false);
    let asked: Vec<String> = [(3, "tools/call"), (4, "tools/list"), (5, "resources/read"), (7, "tools/call")]
        .map(|(id, it)| request(id, it))
        .into();
    assert_eq!(again[0], INITIALIZE);
    assert_eq!(again[1], INITIALIZED);
    assert_eq!(again[2..], asked);
    // The answer to our own `initialize` is nobody else's.
    let slot = between.relay.in_flight.slots();
    let ours = slot
        .iter()
        .copied()
        .find(|slot| between.relay.in_flight.get_mut(*slot).unwrap().asker == Asker::Ourselves);
    between.daemon(Kind::Message, ours.unwrap(), &result(1));
    assert!(between.told().is_empty());
}

#[test]
fn a_read_that_ends_two_daemons_is_not_asked_a_third_time() {
    let mut between = Between::new();
    between.open();
    between.client(&request(2, "resources/read"));
    for round in 0..2 {
        let slot = between.relay.in_flight.slots()[0];
        between.page.set(slot, Stage::Dispatched);
        between.lose();
        if round == 0 {
            assert!(between.told().is_empty());
            between.find(false);
        }
    }
    let told = between.told();
    assert!(told.len() == 1 && told[0].contains(r#""id":2"#), "{told:?}");
}

// A9
#[test]
fn a_daemon_that_is_replaced_keeps_the_calls_that_are_with_servers() {
    let mut between = Between::new();
    between.open();
    between.client(&request(2, "tools/call"));
    between.client(&request(3, "tools/call"));
    let sent = between.sent();
    between.page.set(sent[0].0, Stage::Dispatched);
    between.daemon(Kind::Hold, 0, "");
    between.client(&request(4, "tools/call"));
    assert!(between.sent().is_empty(), "nothing is said to one that is going");
    between.lose();
    assert!(between.told().is_empty());
    let again = between.find(true);
    // The first is not asked again, but waited for.
    assert_eq!(again[2..], [request(2, "tools/call"), request(3, "tools/call"), request(4, "tools/call")]);
    between.daemon(Kind::Message, sent[0].0, &result(2));
    assert_eq!(between.told(), [result(2)]);
}

#[test]
fn calls_that_were_not_kept_after_all_fail() {
    let mut between = Between::new();
    between.open();
    between.client(&request(2, "tools/call"));
    let slot = between.sent()[0].0;
    between.page.set(slot, Stage::Dispatched);
    between.daemon(Kind::Hold, 0, "");
    between.lose();
    between.find(false);
    assert!(between.told()[0].contains(r#""mayHaveRun":true"#));
}

#[test]
fn after_an_ordered_end_nobody_starts_a_daemon_before_the_client_asks() {
    let mut between = Between::new();
    between.open();
    between.client(&request(2, "subscriptions/listen"));
    between.sent();
    between.daemon(Kind::Stopping, 0, "");
    between.lose();
    assert!(!between.relay.wants_daemon() && between.told().is_empty());
    between.client(&request(3, "ping"));
    assert!(between.relay.wants_daemon());
    let again = between.find(false);
    assert_eq!(again[2..], [request(2, "subscriptions/listen"), request(3, "ping")]);
}

#[test]
fn what_an_ordered_end_overtook_is_asked_of_the_next_daemon_and_the_rest_is_answered() {
    let mut between = Between::new();
    between.open();
    for (id, method) in [(2, "tools/list"), (3, "tools/call"), (4, "tools/list"), (5, "tools/call")] {
        between.client(&request(id, method));
    }
    for (slot, _) in between.sent().iter().take(2) {
        between.page.set(*slot, Stage::Received);
    }
    between.daemon(Kind::Stopping, 0, "");
    between.lose();
    let told = between.told();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|line| line.contains(r#""mayHaveRun":false"#)), "{told:?}");
    assert!(between.relay.wants_daemon(), "what it never read is the client's next request");
    assert_eq!(between.find(false)[2..], [request(4, "tools/list"), request(5, "tools/call")]);
}

#[test]
fn a_cancelled_request_is_forgotten_where_nobody_has_it_and_its_slot_waits_where_somebody_does() {
    let mut between = Between::new();
    between.open();
    let cancel = |id: u32| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
    };
    between.client(&request(2, "tools/call"));
    let slot = between.sent()[0].0;
    between.client(&cancel(2));
    assert_eq!(between.sent(), [(0, cancel(2))]);
    between.client(&request(3, "tools/call"));
    assert_ne!(between.sent()[0].0, slot, "a late answer must not be taken for another's");
    between.daemon(Kind::Message, slot, "");
    between.client(&request(4, "tools/call"));
    assert_eq!(between.sent()[0].0, slot);
    between.lose();
    between.told();
    between.client(&request(5, "tools/call"));
    between.client(&cancel(5));
    assert!(!between.find(false).contains(&request(5, "tools/call")));
}

// A8
#[test]
fn level_subscriptions_and_lists_are_told_again_and_a_changed_list_is_announced_once() {
    let mut between = Between::new();
    between.open();
    for (id, method) in
        [(2, "logging/setLevel"), (3, "resources/subscribe"), (4, "resources/subscribe"), (5, "tools/list")]
    {
        between.client(&request(id, method));
        let slot = between.sent()[0].0;
        match id {
            4 => between.daemon(
                Kind::Message,
                slot,
                r#"{"jsonrpc":"2.0","id":4,"error":{"code":-1,"message":"no"}}"#,
            ),
            id => between.daemon(Kind::Message, slot, &result(id)),
        }
    }
    between.told();
    between.lose();
    let again = between.find(false);
    assert_eq!(again[2..4], [request(2, "logging/setLevel"), request(3, "resources/subscribe")]);
    assert!(again[4].contains("tools/list") && again.len() == 5, "{again:?}");
    let list = *between.relay.in_flight.slots().last().unwrap();
    between.daemon(Kind::Message, list, r#"{"jsonrpc":"2.0","id":"x","result":{"tools":[1]}}"#);
    assert_eq!(between.told(), [r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]);
}

#[test]
fn an_open_question_is_withdrawn_and_its_late_answer_swallowed() {
    let mut between = Between::new();
    between.open();
    between.daemon(Kind::Question, 0, r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#);
    between.daemon(Kind::Question, 0, r#"{"jsonrpc":"2.0","id":10,"method":"roots/list"}"#);
    between.client(&result(9));
    assert_eq!(between.sent().len(), 1);
    between.told();
    between.lose();
    let told = between.told();
    assert!(told.len() == 1 && told[0].contains(r#""requestId":10"#), "{told:?}");
    between.find(false);
    between.client(&result(10));
    assert!(between.sent().is_empty());
}

#[test]
fn a_batch_is_one_request_and_fails_as_one() {
    let mut between = Between::new();
    between.open();
    let batch = format!("[{},{}]", request(2, "tools/list"), request(3, "tools/call"));
    between.client(&batch);
    let sent = between.sent();
    assert_eq!(sent[0].1, batch);
    between.page.set(sent[0].0, Stage::Dispatched);
    between.lose();
    let told = between.told();
    assert!(told.len() == 1 && told[0].starts_with('[') && told[0].contains(r#""id":3"#), "{told:?}");
}

#[test]
fn where_no_daemon_can_be_had_everybody_hears_of_it() {
    let mut between = Between::new();
    between.open();
    between.client(&request(2, "tools/list"));
    between.sent();
    between.lose();
    between.relay.given_up();
    assert!(between.told()[0].contains("no daemon"));
    assert!(!between.relay.wants_daemon(), "it is tried again with the next request");
    between.client(&request(3, "tools/list"));
    assert!(between.relay.wants_daemon());
}

/// Two upgrades in a row, the second before the daemon between them has read a word of ours: the call goes on.
#[test]
fn a_kept_call_waits_on_where_the_daemon_between_is_replaced_unannounced() {
    let mut between = Between::new();
    between.open();
    between.client(&request(2, "tools/call"));
    let slot = between.sent()[0].0;
    between.page.set(slot, Stage::Dispatched);
    between.daemon(Kind::Hold, 0, "");
    between.lose();
    assert!(between.find(true).contains(&request(2, "tools/call")));
    between.lose();
    assert_eq!(between.told(), [""; 0]);
    assert!(between.find(true).contains(&request(2, "tools/call")), "it is waited for once more");
    between.daemon(Kind::Message, slot, &result(2));
    assert_eq!(between.told(), [result(2)]);

    // Where that daemon was killed, the next one knows of nothing.
    between.client(&request(3, "tools/call"));
    let slot = between.sent()[0].0;
    between.page.set(slot, Stage::Dispatched);
    between.daemon(Kind::Hold, 0, "");
    between.lose();
    between.find(true);
    between.lose();
    between.find(false);
    assert!(between.told()[0].contains("mayHaveRun\":true"));
}

/// The client has heard that it is listened for, and is not told so twice by daemons it knows nothing of.
#[test]
fn a_listener_is_acknowledged_once_whatever_becomes_of_the_daemon() {
    let acknowledged = |id: u32| {
        let tag = format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{tag}}}"#)
    };
    let mut between = Between::new();
    between.client(&request(2, "subscriptions/listen"));
    between.client(&request(3, "subscriptions/listen"));
    between.daemon(Kind::Question, 0, &acknowledged(2));
    assert_eq!(between.told(), [acknowledged(2)]);
    for _ in 0..2 {
        between.lose();
        between.find(false);
        between.daemon(Kind::Question, 0, &acknowledged(2));
        assert!(between.told().is_empty());
    }
    between.daemon(Kind::Question, 0, &acknowledged(3));
    assert_eq!(between.told(), [acknowledged(3)], "this one was never told");
    let slot = between.relay.in_flight.slots()[0];
    between.daemon(Kind::Message, slot, &result(2));
    between.told();
    between.client(&request(2, "subscriptions/listen"));
    between.daemon(Kind::Question, 0, &acknowledged(2));
    assert_eq!(between.told(), [acknowledged(2)], "an id that is used again is another request");
}

/// S4-10: an id is used once, by however many daemons the client is served.
#[test]
fn a_litemcp_id_that_was_used_is_not_served_again_by_the_next_daemon() {
    let mut between = Between::of(Language::LiteMcp);
    let call = |id: u32| {
        format!(
            r#"{{"version":[1,0,0],"id":{id},"type":"call","data":{{"version":[1,0,0],"tool":"t","arguments":[]}}}}"#
        )
    };
    between.client(&call(7));
    let slot = between.sent()[0].0;
    between.daemon(Kind::Message, slot, &call(7));
    between.client(&call(8));
    between.lose();
    assert_eq!(between.find(false), [call(8)], "it cannot have run");
    between.client(&call(7));
    between.client(&call(8));
    assert!(between.sent().is_empty());
    between.client(&call(9));
    assert_eq!(between.sent()[0].1, call(9));
}
