//! Wrong tokens, counted by where they come from, so that guessing takes long (L17).

use manifold_engine::Lock as _;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// Each wrong token takes up so much time of its address, and one may be ahead by a second: ten a second.
const EACH: Duration = Duration::from_millis(100);
const AHEAD: Duration = Duration::from_secs(1);
/// Addresses counted one by one; those past it count as one together.
const MAX_ADDRESSES: usize = 4096;

/// Until when each address has taken up its time.
#[derive(Default)]
pub(super) struct TokenFailures(Mutex<HashMap<IpAddr, Instant>>);

impl TokenFailures {
    /// Counts a wrong token. Returns false if its address has brought too many.
    pub(super) fn may_fail(&self, address: IpAddr) -> bool {
        let now = Instant::now();
        let mut taken_until = self.0.locked();
        let mut key = network_of(address);
        if taken_until.len() >= MAX_ADDRESSES && !taken_until.contains_key(&key) {
            taken_until.retain(|_, until| *until > now);
            if taken_until.len() >= MAX_ADDRESSES {
                key = Ipv6Addr::UNSPECIFIED.into();
            }
        }
        let until = taken_until.entry(key).or_insert(now);
        let next = (*until).max(now) + EACH;
        if next > now + AHEAD {
            return false;
        }
        *until = next;
        true
    }
}

/// Returns what one machine cannot easily change about its address.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(attempts: &TokenFailures, address: &str, times: usize) -> usize {
        let address = address.parse().unwrap();
        (0..times).filter(|_| attempts.may_fail(address)).count()
    }

    // L17
    #[tokio::test(start_paused = true)]
    async fn ten_wrong_tokens_a_second_are_heard_per_address() {
        let attempts = TokenFailures::default();
        assert_eq!(failed(&attempts, "192.0.2.1", 50), 10);
        assert_eq!(failed(&attempts, "192.0.2.2", 5), 5, "another address has its own ten");
        assert_eq!(failed(&attempts, "::ffff:192.0.2.1", 5), 0, "the same address in other words");
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(failed(&attempts, "192.0.2.1", 50), 5);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(failed(&attempts, "192.0.2.1", 50), 10, "time that was not used is not saved up");
        assert_eq!(failed(&attempts, "2001:db8::1", 7), 7);
        assert_eq!(failed(&attempts, "2001:db8::2", 7), 3, "one machine has many addresses in its network");
    }

    // L17
    #[tokio::test(start_paused = true)]
    async fn the_table_of_addresses_is_bounded() {
        let attempts = TokenFailures::default();
        let address = |n: u32| IpAddr::from(n.to_be_bytes());
        let heard = (0..20_000).filter(|n| attempts.may_fail(address(*n))).count();
        assert_eq!(heard, MAX_ADDRESSES + 10, "those without a place share one");
        assert_eq!(attempts.0.lock().unwrap().len(), MAX_ADDRESSES + 1);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(attempts.may_fail(address(30_000)));
        assert_eq!(attempts.0.lock().unwrap().len(), 1);
    }
}
