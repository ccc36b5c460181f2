//! A registry for tests: answers by address, and what was asked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::SystemTime;

use crate::address::Address;
use crate::api::{Freshness, Registry};
use crate::cache::Cache;
use crate::fetch::{Fetch, FetchError, Get};
use crate::server_json::ServerJson;

pub(crate) const BASE: &str = "https://registry.example";

/// All recorded answers.
pub(crate) const RECORDED: [(&str, &str); 11] = [
    ("npm-search", include_str!("../fixtures/npm-search.json")),
    ("npm-filesystem", include_str!("../fixtures/npm-filesystem.json")),
    ("pypi-weather", include_str!("../fixtures/pypi-weather.json")),
    ("oci-database", include_str!("../fixtures/oci-database.json")),
    ("oci-digest", include_str!("../fixtures/oci-digest.json")),
    ("nuget-sample", include_str!("../fixtures/nuget-sample.json")),
    ("mcpb-editor", include_str!("../fixtures/mcpb-editor.json")),
    ("remote-docs", include_str!("../fixtures/remote-docs.json")),
    ("hybrid", include_str!("../fixtures/hybrid.json")),
    ("deprecated", include_str!("../fixtures/deprecated.json")),
    ("deleted", include_str!("../fixtures/deleted.json")),
];

pub(crate) fn recorded(name: &str) -> &'static str {
    RECORDED.iter().find(|(known, _)| *known == name).expect("it was recorded").1
}

/// Returns a server from the text of its `server.json`.
pub(crate) fn server(text: &str) -> ServerJson {
    serde_json::from_str::<ServerJson>(text).unwrap().checked().unwrap()
}

pub(crate) fn recorded_server(name: &str) -> ServerJson {
    let answer: serde_json::Value = serde_json::from_str(recorded(name)).unwrap();
    server(&answer["server"].to_string())
}

/// Answers what it was told to, and nothing else.
#[derive(Default)]
pub(crate) struct FakeWeb {
    pub(crate) answers: BTreeMap<String, Vec<u8>>,
    pub(crate) asked: RefCell<Vec<String>>,
}

impl FakeWeb {
    pub(crate) fn with(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        let mut web = Self::default();
        web.answers.insert(url.into(), body.into());
        web
    }

    pub(crate) fn registry(&self, cache: Cache) -> Registry<'_> {
        let address = Address::parse(BASE).unwrap();
        Registry { fetch: self, address, cache, freshness: Freshness::Hour, now: SystemTime::now() }
    }
}

impl Fetch for FakeWeb {
    fn get(&self, get: Get<'_>, into: &mut dyn Write) -> Result<(), FetchError> {
        self.asked.borrow_mut().push(get.url.to_owned());
        match self.answers.get(get.url) {
            Some(body) => into.write_all(body).map_err(FetchError::Write),
            None => Err(FetchError::Status(404)),
        }
    }
}
