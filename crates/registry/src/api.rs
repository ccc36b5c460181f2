//! The read side of the registry's API: `GET /v0.1/servers` and `/v0.1/servers/{name}/versions/{version}`.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::address::Address;
use crate::cache::Cache;
use crate::fetch::{Fetch, FetchError, Get, Redirects, fetch_bytes};
use crate::flaw::{Flaw, Refused};
use crate::name::{check_name, check_version};
use crate::server_json::ServerJson;
use crate::text::{check_plain, described};

const MAX_PAGE_BYTES: u64 = 8 << 20;
const MAX_SERVER_BYTES: u64 = 1 << 20;
const MAX_PAGES: usize = 5;
const PAGE: usize = 100;
const MAX_CURSOR_BYTES: usize = 1024;
const MAX_WORDS_BYTES: usize = 200;
/// What a path or a query need not escape.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A registry, and how it is asked.
pub struct Registry<'f> {
    pub fetch: &'f dyn Fetch,
    pub address: Address,
    pub cache: Cache,
    pub freshness: Freshness,
    pub now: SystemTime,
}

/// How old answers may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// An hour, else the registry is asked.
    Hour,
    /// Any age; the registry is not asked.
    Offline,
}

/// An answer, and how old it is if it is one from before.
#[derive(Debug, Clone)]
pub struct Answered<T> {
    pub answer: T,
    pub age: Option<Duration>,
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub servers: Vec<Listed>,
    /// How many more there were that could not be read or taken over.
    pub refused: usize,
    /// Whether there would be more.
    pub has_more: bool,
}

/// A server of the registry.
#[derive(Debug, Clone)]
pub struct Listed {
    pub server: ServerJson,
    pub status: Status,
    /// What the publisher says about that; foreign text.
    pub status_message: Option<String>,
}

/// What its publisher says of a server's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    #[default]
    Active,
    Deprecated,
    Deleted,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("the registry {address} could not be asked: {source}")]
    Unreached { address: String, source: FetchError },
    #[error("the registry {address} has no server '{name}'{}", version_words(version))]
    Unknown { address: String, name: String, version: Option<String> },
    #[error("`{name}` was taken out of the registry{}", message_words(message))]
    Deleted { name: String, message: Option<String> },
    #[error("nothing is kept of that; without --offline the registry {address} is asked")]
    NotKept { address: String },
    #[error("the registry {address} answered something else than was asked for: {refused}")]
    Refused { address: String, refused: Refused },
    #[error("{0}")]
    Asked(Flaw),
    #[error("say what to search for")]
    NoWords,
}

fn version_words(version: &Option<String>) -> String {
    version.as_ref().map(|version| format!(" of version {version}")).unwrap_or_default()
}

fn message_words(message: &Option<String>) -> String {
    message.as_ref().map(|message| format!(": {message}")).unwrap_or_default()
}

#[derive(Deserialize)]
struct Page {
    servers: Option<Vec<Box<RawValue>>>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Response {
    server: ServerJson,
    #[serde(rename = "_meta", default)]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol.registry/official", default)]
    official: Option<Official>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Official {
    #[serde(default)]
    status: Status,
    #[serde(default)]
    status_message: Option<String>,
}

impl Registry<'_> {
    /// Searches by words: the registry looks for the longest in names, and all of them must be somewhere in what it finds.
    pub fn search(&self, words: &[String], limit: usize) -> Result<Answered<Found>, RegistryError> {
        let words: Vec<String> = words.iter().map(|word| word.trim().to_lowercase()).collect();
        let longest = words.iter().max_by_key(|word| word.len()).filter(|word| !word.is_empty());
        let longest = longest.ok_or(RegistryError::NoWords)?;
        check_plain(longest, MAX_WORDS_BYTES).map_err(RegistryError::Asked)?;
        let mut found = Found::default();
        let mut age = None;
        let mut names = BTreeSet::new();
        let mut cursors = BTreeSet::new();
        let mut cursor = None;
        for page in 0.. {
            let Answered { answer: (servers, next), age: page_age } =
                self.page(longest, cursor.as_deref())?;
            age = age.max(page_age);
            for server in servers {
                let listed = match listed(server.get().as_bytes()) {
                    Ok(listed) => listed,
                    Err(_) => {
                        found.refused += 1;
                        continue;
                    }
                };
                let is_wanted = listed.status != Status::Deleted && listed.mentions(&words);
                if is_wanted && names.insert(listed.server.name.clone()) {
                    found.servers.push(listed);
                }
            }
            let is_new = |next: &String| cursors.insert(next.clone());
            cursor = next.filter(is_new);
            if cursor.is_none() || found.servers.len() >= limit || page + 1 == MAX_PAGES {
                break;
            }
        }
        found.has_more = cursor.is_some() || found.servers.len() > limit;
        found.servers.truncate(limit);
        Ok(Answered { answer: found, age })
    }

    /// Returns a server in one version, or the latest. One that was deleted is an error.
    pub fn server(&self, name: &str, version: Option<&str>) -> Result<Answered<Listed>, RegistryError> {
        check_name(name).map_err(RegistryError::Asked)?;
        if let Some(version) = version {
            check_version(version).map_err(RegistryError::Asked)?;
        }
        let (path, wanted) = (escaped(name), escaped(version.unwrap_or("latest")));
        let url = format!("{}/v0.1/servers/{path}/versions/{wanted}", self.address.as_str());
        let answered = self.ask(&url, MAX_SERVER_BYTES, |body| {
            let listed = listed(body)?;
            // Names are compared as they are written: a registry that answers for another server lies.
            let is_it =
                listed.server.name == name && version.is_none_or(|version| version == listed.server.version);
            if is_it {
                Ok(listed)
            } else {
                Err(Flaw::Unreadable("it is another server".to_owned()).at("name"))
            }
        });
        let answered = match answered {
            Err(RegistryError::Unreached { address, source: FetchError::Status(404) }) => {
                let (name, version) = (name.to_owned(), version.map(ToOwned::to_owned));
                return Err(RegistryError::Unknown { address, name, version });
            }
            other => other?,
        };
        match answered.answer.status {
            Status::Deleted => {
                let message = answered.answer.status_message;
                Err(RegistryError::Deleted { name: name.to_owned(), message })
            }
            Status::Active | Status::Deprecated => Ok(answered),
        }
    }

    #[expect(clippy::type_complexity, reason = "a page is its servers and the way to the next")]
    fn page(
        &self,
        word: &str,
        cursor: Option<&str>,
    ) -> Result<Answered<(Vec<Box<RawValue>>, Option<String>)>, RegistryError> {
        let address = self.address.as_str();
        let mut url = format!("{address}/v0.1/servers?search={}&version=latest&limit={PAGE}", escaped(word));
        if let Some(cursor) = cursor {
            url.push_str("&cursor=");
            url.push_str(&escaped(cursor));
        }
        self.ask(&url, MAX_PAGE_BYTES, |body| {
            let page: Page = read(body)?;
            let servers = page.servers.unwrap_or_default();
            if servers.len() > PAGE {
                return Err(Flaw::TooMany(PAGE).at("servers"));
            }
            let next =
                page.metadata.and_then(|metadata| metadata.next_cursor).filter(|next| !next.is_empty());
            if let Some(next) = &next {
                check_plain(next, MAX_CURSOR_BYTES).map_err(|flaw| flaw.at("metadata.nextCursor"))?;
            }
            Ok((servers, next))
        })
    }

    /// Asks the registry, or the cache; only what could be read is kept.
    fn ask<T>(
        &self,
        url: &str,
        max_bytes: u64,
        read: impl Fn(&[u8]) -> Result<T, Refused>,
    ) -> Result<Answered<T>, RegistryError> {
        let address = || self.address.as_str().to_owned();
        let kept = self.cache.read(url, max_bytes, self.now);
        if let Some(kept) = kept.filter(|kept| kept.is_fresh() || self.freshness == Freshness::Offline)
            && let Ok(answer) = read(&kept.body)
        {
            return Ok(Answered { answer, age: Some(kept.age) });
        }
        if self.freshness == Freshness::Offline {
            return Err(RegistryError::NotKept { address: address() });
        }
        let get = Get { url, max_bytes, redirects: Redirects::SameOrigin };
        let body = fetch_bytes(self.fetch, get)
            .map_err(|source| RegistryError::Unreached { address: address(), source })?;
        let answer = read(&body).map_err(|refused| RegistryError::Refused { address: address(), refused })?;
        self.cache.write(url, &body, self.now);
        Ok(Answered { answer, age: None })
    }
}

impl Listed {
    fn mentions(&self, words: &[String]) -> bool {
        let ServerJson { name, title, description, .. } = &self.server;
        let text = format!("{name}\n{}\n{description}", title.as_deref().unwrap_or_default()).to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    }
}

fn listed(body: &[u8]) -> Result<Listed, Refused> {
    let response: Response = read(body)?;
    let official = response.meta.and_then(|meta| meta.official);
    let (status, message) =
        official.map(|official| (official.status, official.status_message)).unwrap_or_default();
    let status_message = message.map(|message| described(&message)).filter(|message| !message.is_empty());
    Ok(Listed { server: response.server.checked()?, status, status_message })
}

/// Reads JSON. What serde says of it can hold foreign words, so it is shown like them.
fn read<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| Flaw::Unreadable(described(&error.to_string())).at("answer"))
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

#[cfg(test)]
mod tests;
