//! Hides secrets in what we repeat of a server's words: errors, status, logs (M11). What a server answers is its own and
//! never passes here.
//!
//! There is one register for the whole process, as there is one log. Every [`Secret`](crate::Secret) enters itself when
//! it is made and is never taken out: what a server of an earlier config said may still be asked for.

mod escapes;
mod forms;

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

/// Shorter values are found in too many places by chance.
const MIN_CHARS: usize = 8;
const HIDDEN: &str = "***";

static REGISTER: RwLock<Register> = RwLock::new(Register { forms: Vec::new(), bare: Vec::new() });

/// Every form in which a secret may be repeated, in order.
struct Register {
    forms: Vec<Box<str>>,
    /// Those of them that are no escapes of others, in order: found where some of their characters are escaped.
    bare: Vec<Box<str>>,
}

/// Has a value hidden from now on, and what it looks like in base64, in an address or in JSON. A value of several
/// lines, or a word such as `Bearer` and a value, is also known by its parts.
pub(crate) fn register(value: &str) {
    let mut parts = Vec::new();
    let lines = value.lines().map(str::trim);
    let after_scheme = value.split_once(' ').filter(|(scheme, _)| scheme.chars().all(char::is_alphabetic));
    for part in lines.chain([value, value.trim()]).chain(after_scheme.map(|(_, rest)| rest.trim())) {
        if part.chars().count() >= MIN_CHARS {
            parts.push(part);
        }
    }
    let mut register = REGISTER.write().unwrap_or_else(PoisonError::into_inner);
    parts.into_iter().for_each(|part| register.add(part));
}

fn insert(forms: &mut Vec<Box<str>>, form: String) {
    if let Err(place) = forms.binary_search_by(|known| (**known).cmp(&form)) {
        forms.insert(place, form.into());
    }
}

/// Returns a text with `***` in place of every secret in it.
pub fn redact(text: &str) -> Cow<'_, str> {
    REGISTER.read().unwrap_or_else(PoisonError::into_inner).redact(text)
}

/// Does the same for a text that was cut off: the beginning of a secret at its end is hidden, too.
pub fn redact_cut(text: &str) -> Cow<'_, str> {
    let register = REGISTER.read().unwrap_or_else(PoisonError::into_inner);
    let text = text.trim_end_matches('\u{fffd}');
    match register.begun_at_end(text) {
        Some(start) => Cow::Owned(register.redact(&text[..start]).into_owned() + HIDDEN),
        None => register.redact(text),
    }
}

impl Register {
    fn add(&mut self, value: &str) {
        forms::of(value).into_iter().for_each(|form| insert(&mut self.forms, form));
        forms::bare(value).into_iter().for_each(|form| insert(&mut self.bare, form));
    }

    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = String::new();
        let (mut copied, mut at) = (0, 0);
        let may_have_escapes = escapes::may_have_escapes(text);
        while at + MIN_CHARS <= text.len() {
            let rest = &text.as_bytes()[at..];
            let as_it_is = self.longest_at(rest);
            let escaped = if may_have_escapes { self.longest_escaped_at(rest) } else { None };
            match as_it_is.max(escaped) {
                // Forms are text, so both ends are between characters.
                Some(bytes) => {
                    shown.push_str(&text[copied..at]);
                    shown.push_str(HIDDEN);
                    at += bytes;
                    copied = at;
                }
                None => at += 1,
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        shown.push_str(&text[copied..]);
        Cow::Owned(shown)
    }

    /// Returns the length of the longest form that begins here.
    fn longest_at(&self, text: &[u8]) -> Option<usize> {
        // All that share their first bytes with the text stand together.
        let start = text.get(..MIN_CHARS)?;
        let first = self.forms.partition_point(|form| &form.as_bytes()[..MIN_CHARS] < start);
        let candidates = self.forms[first..].iter().map(|form| form.as_bytes());
        let candidates = candidates.take_while(|form| form.starts_with(start));
        candidates.filter(|form| text.starts_with(form)).map(<[u8]>::len).max()
    }

    /// Returns the length of the longest that begins here if escapes are read as what they stand for.
    fn longest_escaped_at(&self, text: &[u8]) -> Option<usize> {
        self.escaped_at(text).filter_map(|walk| walk.end).max()
    }

    /// Follows all that may begin here, their characters escaped or not.
    fn escaped_at<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = escapes::Walk> + 't {
        // Those with the same first byte stand together.
        let begun_by = |first: u8| {
            let start = self.bare.partition_point(|value| value.as_bytes()[0] < first);
            let end = self.bare.partition_point(|value| value.as_bytes()[0] <= first);
            &self.bare[start..end]
        };
        escapes::first_bytes(text).flat_map(begun_by).map(|value| escapes::walk(text, value))
    }

    /// Returns where something begins, escaped or not, of which the text has not all.
    fn begun_at_end(&self, text: &str) -> Option<usize> {
        let as_it_is = self.form_begun_at_end(text);
        if !escapes::may_have_escapes(text) {
            return as_it_is;
        }
        let longest = self.bare.iter().map(|value| value.len()).max()?;
        let from = text.len().saturating_sub(longest * escapes::LONGEST);
        let mut starts = text.char_indices().map(|(at, _)| at).filter(|at| *at >= from);
        let escaped = starts.find(|at| self.escaped_at(&text.as_bytes()[*at..]).any(|walk| walk.is_cut));
        as_it_is.into_iter().chain(escaped).min()
    }

    /// Returns where a form begins of which the text has not all.
    fn form_begun_at_end(&self, text: &str) -> Option<usize> {
        let longest = self.forms.iter().map(|form| form.len()).max()?;
        let from = text.len().saturating_sub(longest);
        let begins = |start: &&str| {
            let first = self.forms.partition_point(|form| &**form < *start);
            self.forms.get(first).is_some_and(|form| form.starts_with(*start))
        };
        let starts = text.char_indices().map(|(at, _)| at).filter(|at| *at >= from);
        starts.map(|at| &text[at..]).find(begins).map(|start| text.len() - start.len())
    }
}

#[cfg(test)]
mod tests;
