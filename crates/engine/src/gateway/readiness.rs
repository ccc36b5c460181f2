//! Whether everything that is served is known.

use super::Gateway;
use super::listings::may_discover;
use crate::catalog::Member;

impl Gateway {
    /// Returns whether every server is remembered, ready, or has failed once. Those of which nothing is known are asked,
    /// behind whoever wants to know: a gateway that waits for its first client would never get one from a balancer.
    pub fn is_settled(&self) -> bool {
        let waited_for = self.members(|member| may_discover(member) && !has_failed(member));
        let is_settled = waited_for.is_empty();
        let idle: Vec<_> =
            waited_for.into_iter().filter(|(key, _)| !self.discovery.is_underway(key)).collect();
        if !idle.is_empty() {
            self.discover_behind(idle);
        }
        is_settled
    }
}

fn has_failed(member: &Member) -> bool {
    let failed = |report: &crate::upstream::InstanceReport| report.history.last_fault.is_some();
    member.upstream.reports().iter().any(failed)
}
