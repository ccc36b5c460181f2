use std::sync::{Arc, Mutex};

use manifold_engine::Sink;
use manifold_protocol::{CodeSet, Failure, Method, Raw, Reply};

use super::*;

struct Of(Owner, Arc<Mutex<Option<Reply>>>);

impl Sink for Of {
    fn reply(&self, reply: Reply) {
        *self.1.lock().unwrap() = Some(reply);
    }

    fn client(&self) -> Option<ClientId> {
        self.0
    }
}

/// Queues one call of a client's. Returns where its answer will be, and who was refused for it.
fn push(queue: &mut FairQueue, client: u64, number: u64) -> (Arc<Mutex<Option<Reply>>>, Option<ClientId>) {
    let answer = Arc::new(Mutex::new(None));
    let (exchange, _flight) = Exchange::open(Of(Some(ClientId(client)), Arc::clone(&answer)));
    let call = Call::new(Method::ToolsCall, Some(Raw::number(number)));
    let refused = queue.push(call, exchange);
    let whose = refused.as_ref().and_then(|refused| refused.exchange.client());
    if let Some(refused) = refused {
        refused.tell("srv");
    }
    (answer, whose)
}

fn numbers(calls: &[(Call, Exchange)]) -> Vec<u64> {
    calls.iter().map(|(call, _)| call.params.as_ref().unwrap().u64().unwrap()).collect()
}

// F38
#[test]
fn clients_take_turns_and_each_keeps_its_order() {
    let mut queue = FairQueue::default();
    for (client, number) in [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (2, 21)] {
        push(&mut queue, client, number);
    }
    assert_eq!(queue.len(), 6);
    assert_eq!(numbers(&queue.take_all()), [10, 20, 30, 11, 21, 12]);
    assert_eq!(queue.len(), 0);
    assert!(queue.pop().is_none());
}

#[test]
fn what_is_put_back_goes_before_what_came_later() {
    let mut queue = FairQueue::default();
    for (client, number) in [(1, 10), (1, 11), (2, 20)] {
        push(&mut queue, client, number);
    }
    let taken = queue.take_all();
    push(&mut queue, 1, 12);
    queue.put_back(taken);
    assert_eq!(queue.len(), 4);
    let mut first = numbers(&queue.take_all());
    assert_eq!(first.iter().position(|number| *number == 12), Some(3));
    first.retain(|number| *number < 20);
    assert_eq!(first, [10, 11, 12]);
}

// M9
#[test]
fn a_client_s_flood_is_refused_and_nobody_else_s_call() {
    let mut queue = FairQueue::bounded(3, 100);
    for number in 0..3 {
        assert_eq!(push(&mut queue, 1, number).1, None);
    }
    let (answer, whose) = push(&mut queue, 1, 3);
    assert_eq!(whose, Some(ClientId(1)));
    let Some(Err(Failure::Fault(fault))) = answer.lock().unwrap().take() else { panic!("no fault") };
    let error = fault.to_error(CodeSet::Own);
    assert_eq!(
        error.as_str(),
        r#"{"code":-32603,"message":"Server 'srv' is busy: 3 calls of this client are waiting for it; try again in a moment","data":{"serverId":"srv","service":"srv","reason":"3 calls of this client are waiting for it; try again in a moment","retryable":true}}"#
    );
    assert_eq!(push(&mut queue, 2, 20).1, None);
    assert_eq!(queue.len(), 4);
}

// M9: even many who flood together leave room for one who does not.
#[test]
fn when_all_is_full_whoever_has_most_gives_way() {
    let mut queue = FairQueue::bounded(10, 12);
    let mut answers = Vec::new();
    for number in 0..6 {
        answers.push(push(&mut queue, 1, 10 + number).0);
        push(&mut queue, 2, 20 + number);
    }
    assert_eq!(push(&mut queue, 1, 16).1, Some(ClientId(1)), "it has as many as anybody");
    assert_eq!(push(&mut queue, 3, 30).1, Some(ClientId(2)));
    assert_eq!(push(&mut queue, 3, 31).1, Some(ClientId(1)));
    let told: Vec<bool> = answers.iter().map(|answer| answer.lock().unwrap().is_some()).collect();
    assert_eq!(told, [false, false, false, false, false, true], "its newest is refused");
    assert_eq!(queue.len(), 12);
    // Down to equal shares, and no further.
    for number in 0..10 {
        push(&mut queue, 3, 32 + number);
    }
    assert_eq!(queue.sizes.iter().map(|(size, _)| *size).collect::<Vec<_>>(), [4, 4, 4]);
    assert_eq!(queue.take_all().len(), 12);
    assert!(queue.sizes.is_empty() && queue.waiting.is_empty() && queue.order.is_empty());
}

// M9: nor do those who left keep anybody out.
#[test]
fn calls_that_were_taken_back_take_up_no_room() {
    let mut queue = FairQueue::bounded(8, 16);
    let mut flights = Vec::new();
    for client in [1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
        let (exchange, flight) = Exchange::open(Of(Some(ClientId(client)), Arc::default()));
        assert!(queue.push(Call::new(Method::ToolsCall, Some(Raw::number(client))), exchange).is_none());
        flights.push(flight);
    }
    flights.drain(1..).for_each(|flight| flight.cancel(None));
    assert_eq!(push(&mut queue, 1, 10).1, None);
    assert_eq!(push(&mut queue, 2, 20).1, None);
    assert_eq!((queue.len(), numbers(&queue.take_all())), (3, vec![1, 20, 10]));
    assert!(queue.sizes.is_empty() && queue.waiting.is_empty() && queue.order.is_empty());
}

#[test]
fn calls_without_a_client_are_one_client_s() {
    let mut queue = FairQueue::bounded(1, 100);
    let call = || Call::new(Method::ToolsCall, None);
    assert!(queue.push(call(), Exchange::detached()).is_none());
    assert!(queue.push(call(), Exchange::detached()).is_some());
    assert_eq!(push(&mut queue, 1, 1).1, None);
}
