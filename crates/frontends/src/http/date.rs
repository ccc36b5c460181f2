//! The date of an answer.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

/// Says the time, which is worked out once a second.
pub(super) fn with_date<T>(say: impl FnOnce(&str) -> T) -> T {
    thread_local! {
        static LAST: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = SystemTime::now();
    let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    LAST.with_borrow_mut(|(at, text)| {
        if *at != second || text.is_empty() {
            *at = second;
            *text = httpdate::fmt_http_date(now);
        }
        say(text)
    })
}
