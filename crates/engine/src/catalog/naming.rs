//! The names clients see. Decisions 6 to 8 are all here.

use sha2::{Digest, Sha256};

/// How names are put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    pub separator: String,
    pub max_length: usize,
    /// Names are shown as servers have them, whatever they are.
    pub keeps_names: bool,
}

/// The separators understood in a call, whichever is advertised.
const UNDERSTOOD: [&str; 3] = ["__", ".", "-"];

impl Naming {
    /// Returns one by which names stay what they are.
    pub fn own() -> Self {
        Self { separator: String::new(), max_length: usize::MAX, keeps_names: true }
    }

    /// Returns the name under which a server's item is advertised where nothing else claims it.
    pub fn expose(&self, server: &str, key: &str, original: &str) -> String {
        let plain = if self.separator.is_empty() {
            original.to_owned()
        } else {
            format!("{server}{}{original}", self.separator)
        };
        if self.is_safe(&plain) { plain } else { self.hashed(&plain, key, original) }
    }

    /// Returns the name for an item whose plain one is taken or unsafe: stable, unique and within the limit.
    pub fn hashed(&self, plain: &str, key: &str, original: &str) -> String {
        let suffix = digest(key, original);
        let safe: String = plain.chars().map(|c| if self.allows(c) { c } else { '_' }).collect();
        // All safe characters are ASCII, so bytes are characters here.
        let room = self.max_length.saturating_sub(suffix.len() + 1);
        let kept = safe.get(..room).unwrap_or(&safe);
        format!("{kept}_{suffix}")
    }

    fn is_safe(&self, name: &str) -> bool {
        self.keeps_names
            || (!name.is_empty() && name.len() <= self.max_length && name.chars().all(|c| self.allows(c)))
    }

    fn allows(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || c == '_' || c == '-' || (c == '.' && self.separator == ".")
    }
}

/// Returns every way to read `name` as a server of `ids` and the rest, the longest id first.
pub fn readings<'n>(
    name: &'n str,
    advertised: &str,
    ids: impl Iterator<Item = (usize, String)>,
) -> Vec<(usize, &'n str)> {
    let mut found: Vec<(usize, usize, &str)> = ids
        .filter_map(|(index, id)| {
            let rest = name.strip_prefix(id.as_str())?;
            let after = std::iter::once(advertised)
                .filter(|separator| !separator.is_empty())
                .chain(UNDERSTOOD)
                .find_map(|separator| rest.strip_prefix(separator))?;
            (!after.is_empty()).then_some((id.len(), index, after))
        })
        .collect();
    found.sort_by_key(|(length, index, _)| (std::cmp::Reverse(*length), *index));
    found.into_iter().map(|(_, index, rest)| (index, rest)).collect()
}

/// Returns whether a name may end in one of our hashes, so that only the list can tell what it stands for.
pub fn may_be_hashed(name: &str) -> bool {
    let Some((_, suffix)) = name.rsplit_once('_') else { return false };
    suffix.len() == 8 && suffix.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn digest(key: &str, original: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(key.as_bytes());
    hasher.update([0]);
    hasher.update(original.as_bytes());
    hasher.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
