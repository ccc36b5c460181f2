//! All instances of one server, as the one server they are to the engine.

use std::sync::Arc;
use std::time::Duration;

use manifold_protocol::{Call, Fault, Raw};

use super::PerClient;
use crate::changes::ClientId;
use crate::exchange::Exchange;
use crate::fleet::close_all;
use crate::upstream::{
    BoxFuture, InstanceReport, Listing, LoggedLine, Order, Phase, SignInReport, Status, Upstream, Withheld,
};

impl Upstream for PerClient {
    fn send(&self, call: Call, exchange: Exchange) {
        // A client that left before its call came here must not get an instance.
        if exchange.is_cancelled() {
            return;
        }
        if exchange.client().is_none() && exchange.target().is_none() {
            return self.send_to_all(&call, exchange);
        }
        match self.enter(&call, exchange.client()) {
            Ok((key, upstream)) => {
                let me = self.me.clone();
                let exchange = exchange.then_unchanged(move |reply, outer| {
                    if let Some(reply) = reply {
                        outer.finish(reply);
                    }
                    if let Some(me) = me.upgrade() {
                        me.left_by_call(key);
                    }
                });
                upstream.send(call, exchange);
            }
            Err(fault) => exchange.fail(fault),
        }
    }

    fn notify(&self, method: &'static str, params: Option<Raw>) {
        for upstream in self.upstreams() {
            upstream.notify(method, params.clone());
        }
    }

    fn listing(&self) -> Option<Arc<Listing>> {
        self.listing.load_full().or_else(|| self.lister.listing())
    }

    fn withheld(&self) -> Option<Arc<dyn Withheld>> {
        self.lister.withheld()
    }

    /// Returns how the instance does that does best: whether the server works at all.
    fn status(&self) -> Status {
        let status = self.upstreams().iter().map(|one| one.status()).min_by_key(|status| status.phase.rank());
        let lister = self.lister.status();
        match status {
            Some(status) if status.phase.rank() <= lister.phase.rank() => status,
            _ => lister,
        }
    }

    fn reports(&self) -> Vec<InstanceReport> {
        let mut reports = self.lister.reports();
        for (key, one) in self.lock().instances.iter() {
            let own = |report| InstanceReport { client: key.client(), ..report };
            reports.extend(one.upstream.reports().into_iter().map(own));
        }
        reports
    }

    /// All of them are signed in alike.
    fn sign_in(&self) -> Option<SignInReport> {
        self.lister.sign_in()
    }

    fn is_unresponsive(&self) -> bool {
        self.upstreams().iter().chain([&self.lister]).any(|one| one.is_unresponsive())
    }

    fn logs(&self, lines: usize) -> Vec<LoggedLine> {
        let of_all = self.lister.logs(lines);
        let state = self.lock();
        if state.instances.is_empty() {
            return of_all;
        }
        // Each has its share, so that a talkative one does not hide the others.
        let share = (lines / (state.instances.len() + 1)).max(1);
        let mut logs = of_all[of_all.len().saturating_sub(share)..].to_vec();
        for (key, one) in state.instances.iter() {
            let own = |line| LoggedLine { client: key.client(), ..line };
            logs.extend(one.upstream.logs(share).into_iter().map(own));
        }
        logs
    }

    fn discover(&self) -> BoxFuture<()> {
        let lister = Arc::clone(&self.lister);
        Box::pin(async move {
            lister.discover().await;
            // It has told what there is; whoever calls gets an instance.
            let _ = lister.order(Order::Sleep).await;
        })
    }

    fn order(&self, order: Order) -> BoxFuture<Result<(), Fault>> {
        let mut orders: Vec<_> = {
            let mut state = self.lock();
            // What is to be read anew is neither started nor stopped by that.
            if order != Order::Refresh {
                state.order = Some(order);
            }
            state.instances.iter().map(|(_, one)| one.upstream.order(order)).collect()
        };
        if order == Order::Refresh {
            let lister = Arc::clone(&self.lister);
            let read = lister.order(order);
            orders.push(Box::pin(async move {
                read.await?;
                lister.order(Order::Sleep).await
            }));
        } else if order == Order::Stop {
            self.listing.store(None);
            orders.push(self.lister.order(order));
        } else if orders.is_empty() || self.lister.status().phase == Phase::Stopped {
            // It tries whether the server starts, and learns what there is.
            let (started, listed) = (self.lister.order(order), self.discover());
            orders.push(Box::pin(async move {
                started.await?;
                listed.await;
                Ok(())
            }));
        }
        Box::pin(async move {
            let mut waiting = tokio::task::JoinSet::new();
            for order in orders {
                waiting.spawn(order);
            }
            waiting.join_all().await.into_iter().collect()
        })
    }

    fn introduced(&self) {
        self.lister.introduced();
    }

    fn client_left(&self, client: ClientId) {
        let ended = self.lock().instances.left_by_client(client);
        ended.iter().for_each(|ended| self.end(&**ended));
    }

    fn close(&self, drain: Duration) -> BoxFuture<()> {
        let mut upstreams = vec![Arc::clone(&self.lister)];
        {
            let mut state = self.lock();
            state.is_closed = true;
            upstreams.extend(state.instances.take());
        }
        Box::pin(close_all(upstreams, drain))
    }
}
