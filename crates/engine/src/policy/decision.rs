//! What the rules come to for one item, kept on its route: made when the catalog is built, looked up at each call.

use manifold_protocol::{Fault, Kind};

use crate::principal::Principal;

/// What becomes of a principal's wish to use an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Allow,
    /// It is not there: lists leave it out, and calls are answered as if nobody had it.
    Hide,
    /// It is listed, and used only once somebody has agreed.
    Ask,
}

/// Principals for whom the same rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PolicyClass(u8);

/// The decisions about one item: two bits for each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decisions(u8);

/// Returns what was decided about an item for whoever asks.
#[inline]
pub(crate) fn decide(principal: &Principal, decisions: Decisions) -> Decision {
    decisions.of(PolicyClass::of(principal))
}

/// Returns why an item that is there may not be used without somebody's consent, if so.
#[inline]
pub(crate) fn refusal(
    principal: &Principal,
    decisions: Decisions,
    kind: Kind,
    exposed: &str,
) -> Option<Fault> {
    (decide(principal, decisions) == Decision::Ask).then(|| needs_consent(kind, exposed))
}

#[cold]
fn needs_consent(kind: Kind, exposed: &str) -> Fault {
    Fault::NeedsConsent { kind, name: exposed.to_owned() }
}

impl PolicyClass {
    /// All principals have the same rules so far.
    const EVERYBODY: Self = Self(0);

    pub(crate) fn of(_principal: &Principal) -> Self {
        Self::EVERYBODY
    }
}

impl Decisions {
    /// How many classes there is room for.
    const CLASSES: u8 = 4;
    pub(crate) const ALLOW: Self = Self::of_all(Decision::Allow);
    pub(crate) const HIDE: Self = Self::of_all(Decision::Hide);

    /// Makes the same decision for every class.
    pub(crate) const fn of_all(decision: Decision) -> Self {
        Self(decision as u8 * 0b0101_0101)
    }

    #[inline]
    pub(crate) fn of(self, class: PolicyClass) -> Decision {
        match self.0 >> (2 * class.0) & 0b11 {
            0 => Decision::Allow,
            1 => Decision::Hide,
            _ => Decision::Ask,
        }
    }

    /// Returns whether nobody at all may know of it.
    pub(crate) fn hides_from_all(self) -> bool {
        self == Self::HIDE
    }

    /// Returns the classes it is hidden from, as a set that can be joined with others.
    pub(crate) fn hidden_from(self) -> HiddenFrom {
        let classes = (0..Self::CLASSES).filter(|class| self.of(PolicyClass(*class)) == Decision::Hide);
        HiddenFrom(classes.fold(0, |set, class| set | 1 << class))
    }

    /// Returns the same but for one class.
    #[cfg(test)]
    pub(crate) fn with(self, class: u8, decision: Decision) -> Self {
        assert!(class < Self::CLASSES);
        Self(self.0 & !(0b11 << (2 * class)) | (decision as u8) << (2 * class))
    }
}

/// Classes that are shown less than everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HiddenFrom(u8);

impl HiddenFrom {
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn has(self, class: PolicyClass) -> bool {
        self.0 >> class.0 & 1 == 1
    }
}

#[cfg(test)]
mod tests;
