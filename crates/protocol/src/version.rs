//! The protocol revisions and their negotiation.

/// How a peer speaks: with `initialize` and a session, or with everything said in each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    Legacy,
    Modern,
}

/// A revision with `initialize` and a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
}

impl Revision {
    pub const ALL: [Self; 4] = [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];
    pub const LATEST: Self = Self::V2025_11_25;

    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// Returns what we answer to a client that asks for `requested`: the same where we speak it, else our latest
    /// (lifecycle, "Version Negotiation").
    pub fn negotiate(requested: &str) -> Self {
        Self::parse(requested).unwrap_or(Self::LATEST)
    }

    /// Batches exist in this one revision only.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S1-39, S3-2
    #[test]
    fn known_revisions_are_echoed_and_others_get_the_latest() {
        for revision in Revision::ALL {
            assert_eq!(Revision::negotiate(revision.as_str()), revision);
        }
        for odd in ["", "1.0", "2023-01-01", "2026-07-28", "2099-01-01"] {
            assert_eq!(Revision::negotiate(odd), Revision::LATEST);
        }
    }
}
