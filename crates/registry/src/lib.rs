//! The MCP Registry and MCP bundles: what others offer, turned into an entry of our config and the questions that have to
//! be answered for it.
//!
//! All of it is foreign: nothing is taken over that was not checked, and whoever fetches, asks and writes stands outside.

mod address;
mod answer;
mod api;
mod bundle;
mod cache;
mod choice;
mod fetch;
mod flaw;
mod hash;
mod name;
mod package;
mod plan;
mod remote;
mod server_json;
mod template;
#[cfg(test)]
mod testing;
mod text;

pub use address::{Address, AddressError, DEFAULT_REGISTRY};
pub use answer::{Answer, AnswerError, Answers, Kind, Question};
pub use api::{Answered, Found, Freshness, Listed, Registry, RegistryError, Status};
pub use bundle::{
    Bundle, BundleError, MAX_ARCHIVE_BYTES, MAX_UNPACKED_BYTES, Manifest, Places, Runtime, Unpacked,
    satisfies,
};
pub use cache::Cache;
pub use choice::{Choice, Source, Way};
pub use fetch::{Fetch, FetchError, Get, Redirects};
pub use flaw::{Flaw, Refused};
pub use name::{check_name, check_version};
pub use plan::Plan;
pub use server_json::ServerJson;
