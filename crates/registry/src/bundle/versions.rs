//! Ranges of versions, as manifests name them for Node.js and Python: `>=16.0.0`, `>=3.8,<4.0`, `^18 || ^20`.

/// Returns whether a version is within a range; `None` if either cannot be read.
pub fn satisfies(version: &str, range: &str) -> Option<bool> {
    let version = number(version.trim().trim_start_matches(['v', 'V']))?.0;
    let mut is_within = false;
    for alternative in range.split("||") {
        is_within |= all(version, alternative)?;
    }
    Some(is_within)
}

type Version = [u64; 3];

fn all(version: Version, range: &str) -> Option<bool> {
    // A comparison may stand apart from its number.
    let range = range.replace(',', " ");
    let mut words = range.split_whitespace();
    let mut is_within = true;
    while let Some(word) = words.next() {
        let digits = word.find(|char: char| char.is_ascii_digit() || matches!(char, 'x' | 'X' | '*' | 'v'));
        let (comparison, text) = match digits {
            Some(at) => (&word[..at], &word[at..]),
            None => (word, words.next()?),
        };
        is_within &= compare(version, comparison, text)?;
    }
    Some(is_within)
}

fn compare(version: Version, comparison: &str, text: &str) -> Option<bool> {
    let (bound, parts) = number(text.trim_start_matches('v'))?;
    let same = |count: usize| version[..count] == bound[..count];
    Some(match comparison {
        ">=" => version >= bound,
        ">" if parts < 3 => version > bound && !same(parts),
        ">" => version > bound,
        "<" => version < bound,
        "<=" => version <= bound || same(parts),
        "" | "=" | "==" => same(parts),
        "!=" => !same(parts),
        "~" | "~>" => version >= bound && same(parts.clamp(1, 2)),
        // Python's: all but the last part that is given must stay.
        "~=" => version >= bound && same(parts.saturating_sub(1).max(1)),
        // What stands first and is not zero must stay.
        "^" => version >= bound && same(bound.iter().position(|part| *part > 0).map_or(3, |at| at + 1)),
        _ => return None,
    })
}

/// Returns a version and how many of its parts are given.
fn number(text: &str) -> Option<(Version, usize)> {
    let text = text.split(['-', '+']).next()?;
    let mut version = [0; 3];
    let mut given = 0;
    for (at, part) in text.split('.').take(3).enumerate() {
        if matches!(part, "x" | "X" | "*") {
            break;
        }
        version[at] = part.parse().ok()?;
        given = at + 1;
    }
    Some((version, given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_node_and_python_write_them() {
        let cases = [
            ("v22.1.0", ">=16.0.0", Some(true)),
            ("v14.9.0", ">=16.0.0", Some(false)),
            ("3.11.2", ">=3.8,<4.0", Some(true)),
            ("3.7", ">=3.8.0 <4", Some(false)),
            ("20.3.1", "^18 || ^20", Some(true)),
            ("19.0.0", "^18 || ^20", Some(false)),
            ("0.3.0", "^0.2.1", Some(false)),
            ("3.11.9", "~3.11", Some(true)),
            ("3.12.0", "~=3.11", Some(true)),
            ("18.5.0", "18.x", Some(true)),
            ("18.5.0", ">= 18", Some(true)),
            ("18.5.0", "*", Some(true)),
            ("18.5.0", ">18", Some(false)),
            ("18.5.0", "whatever", None),
            ("garbage", ">=1", None),
        ];
        for (version, range, expected) in cases {
            assert_eq!(satisfies(version, range), expected, "{version} in {range}");
        }
    }
}
