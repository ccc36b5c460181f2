//! Which era a server speaks: said by the config, remembered, or found out by its first answer.

use manifold_config::{EraSetting, Server};
use manifold_engine::ClientFacts;
use manifold_protocol::dialect::{ServerFacts, modern};
use manifold_protocol::{Caller, Era, Raw, Revision};

use crate::cache::Cache;

/// How a start goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Nothing is known: the server's first answer decides.
    Probe,
    /// The config says so, or the server's own end has shown it.
    Only(Era),
    /// It was so when we last looked.
    Remembered(Era),
}

impl Plan {
    pub(crate) fn of(server: &Server, cache: &Cache) -> Self {
        match server.era {
            EraSetting::Legacy => Self::Only(Era::Legacy),
            EraSetting::Modern => Self::Only(Era::Modern),
            EraSetting::Auto => cache.era(server).map_or(Self::Probe, Self::Remembered),
        }
    }
}

/// What a server was found to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Legacy,
    Modern,
    /// Both: each caller is spoken for in its own.
    Dual,
}

impl From<Era> for Found {
    fn from(era: Era) -> Self {
        match era {
            Era::Legacy => Self::Legacy,
            Era::Modern => Self::Modern,
        }
    }
}

/// Writes down what a start by this plan has shown.
pub(crate) fn learn(cache: &Cache, server: &Server, plan: Plan, found: Found) {
    // What was taken on trust is no news: its date stays, so that it is looked at again in time.
    let is_news = server.era == EraSetting::Auto && plan != Plan::Remembered(Era::Legacy);
    if is_news {
        cache.note_era(server, found);
    }
}

/// Returns who asks where nobody in particular does.
pub(crate) fn caller(facts: &ClientFacts) -> Caller {
    Caller {
        capabilities: facts.capabilities.clone(),
        info: Some(facts.info.clone()),
        log_level: None,
        retries: false,
        is_retry: false,
        words: Default::default(),
    }
}

/// Returns the parameters of `server/discover`, the first word to a server that may be modern.
pub(crate) fn discover_params(facts: &ClientFacts) -> Raw {
    modern::seal(None, &caller(facts))
}

/// What an answer to `server/discover` says of the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Modern(ServerFacts),
    /// It names revisions with sessions as well.
    Dual(ServerFacts),
    Legacy,
    /// It is modern, and speaks no revision that we do.
    Foreign(String),
}

/// Reads a server's result.
pub(crate) fn read_result(result: &Raw) -> Word {
    let Some(said) = modern::read_discover_result(result) else { return Word::Legacy };
    let versions = result.get("supportedVersions").and_then(|versions| versions.elements());
    let is_older = |version: &Raw| version.to_text().is_some_and(|text| Revision::parse(&text).is_some());
    match versions.unwrap_or_default().iter().any(is_older) {
        true => Word::Dual(said),
        false => Word::Modern(said),
    }
}

/// Reads a server's error; only a word of its own era's makes it modern.
pub(crate) fn read_error(error: &Raw) -> Word {
    if !modern::is_modern_error(error) {
        return Word::Legacy;
    }
    let supported = error.path(&["data", "supported"]).and_then(|versions| versions.elements());
    let supported: Vec<String> = supported
        .unwrap_or_default()
        .iter()
        .filter_map(|version| Some(version.to_text()?.into_owned()))
        .collect();
    if supported.is_empty() || supported.iter().any(|version| version == modern::REVISION) {
        return Word::Modern(unsaid());
    }
    if supported.iter().any(|version| Revision::parse(version).is_some()) {
        return Word::Legacy;
    }
    Word::Foreign(format!("it speaks only {}, which we do not", supported.join(", ")))
}

/// What is known of a modern server that says nothing of itself.
pub(crate) fn unsaid() -> ServerFacts {
    ServerFacts {
        revision: modern::REVISION.to_owned(),
        capabilities: Raw::from_static("{}"),
        instructions: None,
    }
}

#[cfg(test)]
mod tests;
