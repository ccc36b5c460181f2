//! Fake servers, scripted clients and fixtures for Manifold's tests; only ever a dev-dependency.
//!
//! Everything here is synchronous and fails by panicking: a broken fixture should end its test at once.
#![expect(clippy::expect_used, reason = "a test kit reports its failures by panicking")]

pub mod client;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod fake;
pub mod figures;
pub mod http;
pub mod http_client;
pub mod http_fake;
pub mod issuer_fake;
pub mod modern;
pub mod oauth_fake;
pub mod otlp_sink;
pub mod processes;
pub mod registry_fake;
pub mod sandbox;

pub use client::{Client, Framing};
pub use http_client::HttpCaller;
pub use http_fake::{HttpFake, Style, Trouble};
pub use modern::Era;
pub use oauth_fake::{Misbehaviour, OAuthFake, visit};
pub use otlp_sink::{OtlpSink, SinkSpan};
pub use processes::{Usage, alive, own_kib, processes_with_marker, until};
pub use registry_fake::RegistryFake;
pub use sandbox::{Sandbox, bin, fake};
