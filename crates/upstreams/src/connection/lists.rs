//! What is known of the server's lists: which are out of date, and what of its tools matters to their calls.

use super::dialect::KnownTools;
use super::stale_lists::StaleLists;

#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) stale: StaleLists,
    pub(super) tools: KnownTools,
}
