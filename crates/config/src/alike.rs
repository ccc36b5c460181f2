//! Names that are like each other: one that is not there may have been meant for one that is. It is only ever suggested.

/// Up to one change in so many characters, names are alike.
const LIKENESS: usize = 3;

/// Returns how far two names are apart, whatever stands between their words; `None` where they are not alike.
pub fn distance(one: &str, other: &str) -> Option<usize> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', '.', '/'], "");
    let (one, other) = (plain(one), plain(other));
    let most = (one.chars().count() / LIKENESS).max(1);
    // What differs more in length need not be compared.
    if one.len().abs_diff(other.len()) > 4 * most {
        return None;
    }
    Some(strsim::damerau_levenshtein(&one, &other)).filter(|distance| *distance <= most)
}

/// Returns the name that is most like one, if any is.
pub fn most_alike<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.into_iter().filter_map(|known| Some((distance(name, known)?, known)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// Returns a hint that names it.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    most_alike(name, known).map(|best| format!("did you mean `{best}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_nothing_else() {
        let known = ["git_log", "git_status", "time"];
        assert_eq!(most_alike("git-logg", known), Some("git_log"));
        assert_eq!(most_alike("tiem", known), Some("time"));
        assert_eq!(most_alike("weather", known), None);
        assert_eq!(most_alike("", known), None);
        assert_eq!(did_you_mean("gitstatus", known).as_deref(), Some("did you mean `git_status`?"));
    }
}
