//! Names of tools and prompts in rules: `*` stands for any run of characters, and none.

const ANY: char = '*';

/// Returns whether a name is the one that is written, or of the shape that is.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    pattern == name || weight(pattern, name).is_some()
}

/// Returns the rule that tells most of a name, with what it says: the one that names it, else the pattern with the most
/// characters of its own. Of two that say as much, the one that denies counts.
pub(super) fn most_telling<P: AsRef<str>>(
    rules: impl Iterator<Item = (P, bool)>,
    name: &str,
) -> Option<(P, bool)> {
    let mut best: Option<(usize, P, bool)> = None;
    for (pattern, allowed) in rules {
        let own = pattern.as_ref();
        let weight = if own == name { Some(usize::MAX) } else { weight(own, name) };
        let Some(weight) = weight else { continue };
        let is_better =
            |(most, _, before): &(usize, P, bool)| weight > *most || (weight == *most && *before && !allowed);
        if best.as_ref().is_none_or(is_better) {
            best = Some((weight, pattern, allowed));
        }
    }
    best.map(|(_, pattern, allowed)| (pattern, allowed))
}

/// Returns how many bytes a pattern has of its own, if a name is of its shape.
fn weight(pattern: &str, name: &str) -> Option<usize> {
    let (head, rest) = pattern.split_once(ANY)?;
    let (middle, tail) = rest.rsplit_once(ANY).unwrap_or(("", rest));
    let mut left = name.strip_prefix(head)?.strip_suffix(tail)?;
    // The first place where a part fits leaves the most room for those after it.
    for part in middle.split(ANY) {
        left = &left[left.find(part)? + part.len()..];
    }
    Some(pattern.len() - pattern.matches(ANY).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, fits: &[&str], others: &[&str]) {
        for name in fits {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for name in others {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_star_stands_for_any_run() {
        check("read", &["read"], &["reads", "Read", ""]);
        check("*", &["", "a", "*", "é\n"], &[]);
        check("read*", &["read", "read_file", "read*"], &["rea", "unread"]);
        check("*_file", &["_file", "read_file"], &["file", "read_files"]);
        check("a*a", &["aa", "aba"], &["a", "ab"]);
        check("a*b*c", &["abc", "axbxbc"], &["acb", "ab", "abcd"]);
        check("a**é", &["aé", "abé"], &["a"]);
    }

    #[test]
    fn what_says_most_counts() {
        let rules = [("*", true), ("del*", false), ("delta", true), ("*ta", false)];
        for (name, expected) in [
            ("x", ("*", true)),
            ("delete", ("del*", false)),
            ("delta", ("delta", true)),
            ("beta", ("*ta", false)),
            ("deleta", ("del*", false)),
        ] {
            assert_eq!(most_telling(rules.into_iter(), name), Some(expected), "{name}");
        }
        let even = [("ab*", true), ("*bc", false)];
        assert_eq!(most_telling(even.into_iter(), "abc"), Some(("*bc", false)));
        assert_eq!(most_telling([("b", true)].into_iter(), "a"), None);
    }
}
