//! Good tokens and bad ones, keys that change, and an issuer that cannot be reached; the clocks are the test's.

mod introspection;
mod issuer;
mod keys;
mod tokens;
