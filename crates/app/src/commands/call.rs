//! `call`: a tool, asked once, from the command line.

pub(crate) mod address;
pub(crate) mod arguments;
pub(crate) mod signature;

/// Returns the most similar of some names, if any is similar at all. It is suggested, never used.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let wanted = plain(name);
    let (distance, best) = known
        .map(|known| (strsim::damerau_levenshtein(&wanted, &plain(known)), known))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= (wanted.chars().count() / 3).max(1)).then_some(best)
}
