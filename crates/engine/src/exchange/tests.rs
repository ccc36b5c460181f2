use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use manifold_protocol::Failure;

use super::*;

struct Probe(mpsc::Sender<Reply>);

impl Sink for Probe {
    fn reply(&self, reply: Reply) {
        self.0.send(reply).unwrap();
    }
}

#[derive(Default)]
struct Holder(AtomicUsize);

impl Cancel for Holder {
    fn cancel(&self, key: u64, _reason: Option<Raw>) {
        assert_eq!(key, 7);
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn open() -> (Exchange, Arc<CallHandle<dyn Sink>>, mpsc::Receiver<Reply>) {
    let (sender, receiver) = mpsc::channel();
    let (exchange, flight) = Exchange::open(Probe(sender));
    (exchange, flight, receiver)
}

#[test]
fn a_dropped_exchange_answers_with_an_error() {
    let (exchange, _flight, replies) = open();
    drop(exchange);
    assert!(matches!(replies.try_recv(), Ok(Err(Failure::Fault(Fault::Internal(_))))));
    assert!(replies.try_recv().is_err());
}

#[test]
fn an_answer_is_delivered_once() {
    let (exchange, flight, replies) = open();
    exchange.finish(Ok(Raw::from_static("{}")));
    flight.cancel(None);
    assert!(matches!(replies.try_recv(), Ok(Ok(_))));
    assert!(replies.try_recv().is_err());
}

// S1-44
#[test]
fn cancelling_reaches_the_holder_and_silences_the_answer() {
    let (exchange, flight, replies) = open();
    let holder = Arc::new(Holder::default());
    assert!(exchange.set_canceller(holder.clone(), 7));
    flight.cancel(None);
    flight.cancel(None);
    assert_eq!(holder.0.load(Ordering::SeqCst), 1);
    assert!(exchange.is_cancelled());
    exchange.finish(Ok(Raw::from_static("{}")));
    assert!(replies.try_recv().is_err());
}

#[test]
fn a_call_cancelled_before_it_is_held_is_not_taken() {
    let (exchange, flight, _replies) = open();
    flight.cancel(None);
    assert!(!exchange.set_canceller(Arc::new(Holder::default()), 7));
}

#[test]
fn cancelling_passes_through_a_wrapped_exchange() {
    let (outer, flight, replies) = open();
    let inner = outer.then(|reply, outer| outer.finish(reply));
    let holder = Arc::new(Holder::default());
    inner.set_canceller(holder.clone(), 7);
    flight.cancel(None);
    assert_eq!(holder.0.load(Ordering::SeqCst), 1);
    drop(inner);
    assert!(replies.try_recv().is_err());
}

/// An asker whose answers find their way back by an address.
#[derive(Default)]
struct Addressed(Arc<AtomicUsize>);

impl Sink for Addressed {
    fn reply(&self, _reply: Reply) {}

    fn dispatched(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn address(&self) -> Option<ReturnAddress> {
        Some(ReturnAddress { session: "a".to_owned(), id: Raw::number(1), steps: Vec::new() })
    }
}

#[test]
fn an_address_says_what_is_still_to_be_done_in_order() {
    let dispatched = Arc::new(AtomicUsize::new(0));
    let (exchange, _flight) = Exchange::open(Addressed(Arc::clone(&dispatched)));
    let last = AnswerStep::NameTask { server: "s".to_owned(), is_shared: true };
    let exchange = exchange.then_step(last.clone(), |reply, outer| outer.finish(reply));
    let exchange = exchange.then_step(AnswerStep::AllowAnyStructured, |reply, outer| outer.finish(reply));
    let exchange = exchange.then_unchanged(|_, _| {});
    exchange.dispatched();
    assert_eq!(dispatched.load(Ordering::SeqCst), 1);
    assert_eq!(exchange.address().unwrap().steps, [AnswerStep::AllowAnyStructured, last]);
    let exchange = exchange.then(|reply, outer| outer.finish(reply));
    assert_eq!(exchange.address(), None, "nobody can say what this one does");
}

#[test]
fn a_call_left_to_another_process_is_answered_by_nobody_here() {
    let (exchange, flight, replies) = open();
    let inner = exchange.then(|reply, outer| outer.finish(reply));
    inner.leave_to_another_process();
    drop(flight);
    assert!(replies.try_recv().is_err());
}
