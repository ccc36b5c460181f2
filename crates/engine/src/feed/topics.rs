//! Which events a reader wants.

use manifold_admin::Happening;

use super::Lane;

/// What events can be about, by the word that is their `kind`.
const WORDS: [(&str, Topics); 9] = [
    ("server", Topics::SERVER),
    ("catalog", Topics::CATALOG),
    ("client", Topics::CLIENT),
    ("config", Topics::CONFIG),
    ("audit", Topics::AUDIT),
    ("daemon", Topics::DAEMON),
    ("recording", Topics::RECORDING),
    ("call", Topics::CALL),
    ("log", Topics::LOG),
];

/// A set of topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topics(u16);

impl Topics {
    pub const SERVER: Self = Self(1);
    pub const CATALOG: Self = Self(1 << 1);
    pub const CLIENT: Self = Self(1 << 2);
    pub const CONFIG: Self = Self(1 << 3);
    pub const AUDIT: Self = Self(1 << 4);
    pub const DAEMON: Self = Self(1 << 5);
    pub const RECORDING: Self = Self(1 << 6);
    pub const CALL: Self = Self(1 << 7);
    pub const LOG: Self = Self(1 << 8);
    /// How things are: all but what comes with every call and with every line of a log.
    pub const STATE: Self = Self(Self::CALL.0 - 1);
    pub const ALL: Self = Self((1 << 9) - 1);

    /// Reads a list of words such as `server,call`; nothing at all is [`Self::STATE`]. Gives back a word that means nothing.
    pub fn parse(words: &str) -> Result<Self, &str> {
        if words.trim().is_empty() {
            return Ok(Self::STATE);
        }
        words.split(',').map(str::trim).try_fold(Self(0), |topics, word| {
            let known = WORDS.iter().find(|(known, _)| *known == word);
            known.map(|(_, topic)| topics.and(*topic)).ok_or(word)
        })
    }

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn has(self, topic: Self) -> bool {
        self.0 & topic.0 != 0
    }

    /// Returns whether an event is about one of them. That something is missing concerns everybody.
    pub(super) fn has_event(self, happening: &Happening) -> bool {
        topic(happening).is_none_or(|topic| self.has(topic))
    }

    pub(super) fn has_lane(self, lane: Lane) -> bool {
        match lane {
            Lane::State => self.has(Self::STATE),
            Lane::Calls => self.has(Self::CALL),
            Lane::Logs => self.has(Self::LOG),
        }
    }
}

impl Default for Topics {
    fn default() -> Self {
        Self::STATE
    }
}

fn topic(happening: &Happening) -> Option<Topics> {
    match happening {
        Happening::Server { .. } => Some(Topics::SERVER),
        Happening::Catalog { .. } => Some(Topics::CATALOG),
        Happening::Client { .. } => Some(Topics::CLIENT),
        Happening::Config { .. } => Some(Topics::CONFIG),
        Happening::Audit { .. } => Some(Topics::AUDIT),
        Happening::Daemon { .. } => Some(Topics::DAEMON),
        Happening::Recording { .. } => Some(Topics::RECORDING),
        Happening::Call { .. } => Some(Topics::CALL),
        Happening::Log { .. } => Some(Topics::LOG),
        Happening::Reset | Happening::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_read_by_their_words() {
        assert_eq!(Topics::parse(""), Ok(Topics::STATE));
        assert_eq!(Topics::parse("server, call"), Ok(Topics::SERVER.and(Topics::CALL)));
        assert_eq!(Topics::parse("server,weather"), Err("weather"));
        let all = WORDS.iter().fold(Topics(0), |all, (_, topic)| all.and(*topic));
        assert_eq!(all, Topics::ALL);
        assert!(!Topics::STATE.has(Topics::CALL) && !Topics::STATE.has(Topics::LOG));
    }
}
