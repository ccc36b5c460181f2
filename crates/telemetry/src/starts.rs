//! How often servers came up, as a number that never falls: instances count for themselves, and end.

use std::collections::BTreeMap;
use std::sync::Mutex;

use manifold_engine::Lock as _;

/// What was counted so far, by server.
#[derive(Default)]
pub struct Starts(Mutex<BTreeMap<String, Counted>>);

#[derive(Default)]
struct Counted {
    /// What the instances that there are had counted when they were looked at last.
    last: u64,
    /// What those had counted that have ended since.
    gone: u64,
}

impl Starts {
    /// Returns the totals, from what the instances that there are have counted. Servers that are no longer `known` begin
    /// anew.
    pub fn total(&self, now: &BTreeMap<String, u64>, known: impl Fn(&str) -> bool) -> BTreeMap<String, u64> {
        let mut counted = self.0.locked();
        counted.retain(|server, _| known(server));
        for server in now.keys().filter(|server| known(server)) {
            counted.entry(server.clone()).or_default();
        }
        let total = |(server, counted): (&String, &mut Counted)| {
            let now = now.get(server).copied().unwrap_or_default();
            counted.gone += counted.last.saturating_sub(now);
            counted.last = now;
            (server.clone(), counted.gone + now)
        };
        counted.iter_mut().map(total).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_falls_while_its_server_is_there() {
        let starts = Starts::default();
        let total = |now: Option<u64>| {
            let now = now.map(|count| ("a".to_owned(), count)).into_iter().collect();
            starts.total(&now, |_| true).get("a").copied()
        };
        assert_eq!([total(Some(0)), total(Some(5))], [Some(0), Some(5)]);
        assert_eq!(total(Some(3)), Some(5), "one instance of two has ended");
        assert_eq!(total(Some(4)), Some(6));
        assert_eq!(total(None), Some(6), "nobody uses it now");
        assert_eq!(total(Some(1)), Some(7));
        assert!(starts.total(&BTreeMap::new(), |_| false).is_empty());
        assert_eq!(total(Some(1)), Some(1), "it was removed, and is another");
    }
}
