//! Calls that wait for their turn at a busy server: each client's in order, and the clients one after the other, so
//! that one with a thousand calls does not keep out one with a single call (F38).

use std::collections::{HashMap, VecDeque};

use manifold_engine::{ClientId, Exchange};
use manifold_protocol::Call;

#[derive(Default)]
pub(super) struct Turns {
    waiting: HashMap<Option<ClientId>, VecDeque<(Call, Exchange)>>,
    /// Whose turn it is; each client with calls waiting stands here once.
    order: VecDeque<Option<ClientId>>,
    count: usize,
}

impl Turns {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn push(&mut self, call: Call, exchange: Exchange) {
        let client = exchange.client();
        let calls = self.waiting.entry(client).or_default();
        if calls.is_empty() {
            self.order.push_back(client);
        }
        calls.push_back((call, exchange));
        self.count += 1;
    }

    /// Takes the next call; its client goes to the end of the line.
    pub(super) fn pop(&mut self) -> Option<(Call, Exchange)> {
        let client = self.order.pop_front()?;
        let calls = self.waiting.get_mut(&client)?;
        let next = calls.pop_front()?;
        self.count -= 1;
        if calls.is_empty() {
            self.waiting.remove(&client);
        } else {
            self.order.push_back(client);
        }
        Some(next)
    }

    pub(super) fn take_all(&mut self) -> Vec<(Call, Exchange)> {
        std::iter::from_fn(|| self.pop()).collect()
    }
}

#[cfg(test)]
mod tests {
    use manifold_engine::Sink;
    use manifold_protocol::{Method, Raw, Reply};

    use super::*;

    struct Of(u64);

    impl Sink for Of {
        fn reply(&self, _reply: Reply) {}

        fn client(&self) -> Option<ClientId> {
            Some(ClientId(self.0))
        }
    }

    // F38
    #[test]
    fn clients_take_turns_and_each_keeps_its_order() {
        let mut turns = Turns::default();
        for (client, number) in [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (2, 21)] {
            let (exchange, _flight) = Exchange::open(Of(client));
            turns.push(Call::new(Method::ToolsCall, Some(Raw::number(number))), exchange);
        }
        assert_eq!(turns.len(), 6);
        let order: Vec<u64> =
            turns.take_all().iter().map(|(call, _)| call.params.as_ref().unwrap().u64().unwrap()).collect();
        assert_eq!(order, [10, 20, 30, 11, 21, 12]);
        assert_eq!(turns.len(), 0);
        assert!(turns.pop().is_none());
    }
}
