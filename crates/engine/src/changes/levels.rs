//! From which level on each client wants log messages.

use std::sync::Arc;

use manifold_protocol::Raw;

use super::{ClientId, Clients, Entry, lock};

/// The log levels that servers were asked for.
#[derive(Default)]
pub(super) struct Levels {
    /// The lowest that sessions asked for when one last did.
    sessions: Option<Level>,
    /// The lowest that a single call asked for.
    calls: Option<Level>,
}

/// How grave a log message is; the place in the list is the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(usize);

impl Level {
    pub(crate) const NAMES: [&str; 8] =
        ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

    /// What clients hear that never said how much they want to.
    const DEFAULT: Self = Self(1);

    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(Self)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self.0]
    }

    /// Returns the level of a log message; one that has none is for everybody.
    pub fn of_message(params: Option<&Raw>) -> Option<Self> {
        Self::parse(&params?.get("level")?.to_text()?)
    }
}

impl Clients {
    /// Notes what a client wants to hear. Returns the lowest level that any client asked for.
    pub(crate) fn set_level(&self, id: Option<ClientId>, level: Level) -> Level {
        let asked = {
            let mut registry = self.lock();
            if let Some(id) = id {
                registry.set_level(id, level);
            }
            registry.lowest_level()
        };
        let lowest = asked.map_or(level, |asked| asked.min(level));
        let mut levels = lock(&self.levels);
        levels.sessions = Some(lowest);
        levels.calls.map_or(lowest, |calls| calls.min(lowest))
    }

    /// Notes what a caller wants to hear of one call. Returns whether that is more than anybody wanted before.
    pub(crate) fn lower_level(&self, level: Level) -> bool {
        let mut levels = lock(&self.levels);
        let is_lower = levels.calls.is_none_or(|lowest| level < lowest);
        if is_lower {
            levels.calls = Some(level);
        }
        drop(levels);
        is_lower && self.lock().lowest_level().is_none_or(|asked| asked > level)
    }

    /// Returns those a log message of this level is for. Who never asked for a level hears what it would had no single
    /// call made the servers say more.
    pub(crate) fn wanting(&self, level: Level) -> Vec<Arc<Entry>> {
        let usual = self.usual_level();
        let wants = |asked: Option<Level>| asked.or(usual).is_none_or(|wanted| level >= wanted);
        let found = self.lock().of_level(wants);
        self.looked(found.len());
        found
    }

    /// Returns whether a log message of this level is for this client.
    pub(crate) fn is_wanted_by(&self, id: ClientId, level: Level) -> bool {
        let asked = self.lock().level(id).or_else(|| self.usual_level());
        asked.is_none_or(|wanted| level >= wanted)
    }

    fn usual_level(&self) -> Option<Level> {
        let levels = lock(&self.levels);
        levels.calls.map(|_| levels.sessions.unwrap_or(Level::DEFAULT))
    }
}
