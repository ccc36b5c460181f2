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
mod tests {
    use super::*;
    use crate::fake::{raw, server};

    #[test]
    fn only_modern_words_make_a_server_modern() {
        let modern = |word: Word| matches!(word, Word::Modern(_));
        assert!(modern(read_result(&raw(r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#))));
        let both = raw(r#"{"supportedVersions":["2025-11-25","2026-07-28"],"capabilities":{}}"#);
        assert!(matches!(read_result(&both), Word::Dual(_)));
        assert_eq!(
            read_result(&raw(r#"{"supportedVersions":["2025-11-25"],"capabilities":{}}"#)),
            Word::Legacy
        );
        assert_eq!(read_result(&raw("{}")), Word::Legacy);
        for code in [-32601, -32602, -32000, -32603, -32700] {
            assert_eq!(read_error(&raw(&format!(r#"{{"code":{code},"message":"m"}}"#))), Word::Legacy);
        }
        for code in [-32020, -32021, -32022] {
            assert!(modern(read_error(&raw(&format!(r#"{{"code":{code},"message":"m"}}"#)))));
        }
        let only = |versions: &str| {
            raw(&format!(r#"{{"code":-32022,"message":"m","data":{{"supported":{versions}}}}}"#))
        };
        assert!(modern(read_error(&only(r#"["2026-07-28"]"#))));
        assert_eq!(read_error(&only(r#"["2025-06-18"]"#)), Word::Legacy);
        assert_eq!(
            read_error(&only(r#"["2027-01-01"]"#)),
            Word::Foreign("it speaks only 2027-01-01, which we do not".to_owned())
        );
    }

    #[test]
    fn the_config_has_the_first_word_and_memory_the_second() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(home.path().to_owned()));
        let (auto, pinned) = (server(""), server(r#","era":"modern""#));
        assert_eq!(Plan::of(&auto, &cache), Plan::Probe);
        assert_eq!(Plan::of(&pinned, &cache), Plan::Only(Era::Modern));
        learn(&cache, &pinned, Plan::Only(Era::Modern), Found::Modern);
        assert_eq!(Plan::of(&auto, &cache), Plan::Probe, "what the config says was not found out");
        learn(&cache, &auto, Plan::Probe, Found::Dual);
        assert_eq!(Plan::of(&auto, &cache), Plan::Remembered(Era::Modern));
        assert!(cache.saved(&auto).is_some_and(|saved| saved.is_dual));
        learn(&cache, &auto, Plan::Probe, Found::Legacy);
        assert_eq!(Plan::of(&auto, &cache), Plan::Remembered(Era::Legacy));
        assert_eq!(Plan::of(&pinned, &cache), Plan::Only(Era::Modern));
    }
}
