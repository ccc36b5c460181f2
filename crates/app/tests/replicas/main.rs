//! Several gateways that serve the same clients, with the real binary and, where they are installed, the real Redis and
//! HAProxy.
#![expect(clippy::expect_used, reason = "a broken fixture ends its test at once")]

mod fixture;
mod leased;
mod locked;
mod outage;
mod redis;
mod shared;
mod stateless;
