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
