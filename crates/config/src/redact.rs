//! Hides secrets in what we repeat of a server's words: errors, status, logs (M11). What a server answers is its own and
//! never passes here.
//!
//! There is one register for the whole process, as there is one log. Every [`Secret`](crate::Secret) enters itself when
//! it is made and is never taken out: what a server of an earlier config said may still be asked for.

mod escapes;
mod forms;
mod sieve;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use sieve::{STRIDE, Sieve};

/// Shorter values are found in too many places by chance.
const MIN_CHARS: usize = 8;
const HIDDEN: &str = "***";

/// How many values are kept hidden that others took the place of: more than there are tokens in use at a time.
const MAX_PASSING: usize = 256;

static PASSING: Mutex<VecDeque<Box<str>>> = Mutex::new(VecDeque::new());

static REGISTER: RwLock<Register> = RwLock::new(Register::new());

/// Every form in which a secret may be repeated, in order.
struct Register {
    forms: Vec<Box<str>>,
    /// Those of them that are no escapes of others, in order: found where some of their characters are escaped.
    bare: Vec<Box<str>>,
    sieve: Sieve,
}

/// The secrets that are known now, for whoever looks for them in several texts. Whoever makes one waits meanwhile.
pub struct Redactor(RwLockReadGuard<'static, Register>);

/// Has a value hidden from now on, and what it looks like in base64, in an address or in JSON. A value of several
/// lines, or a word such as `Bearer` and a value, is also known by its parts.
pub(crate) fn register(value: &str) {
    let parts = parts(value);
    let mut register = REGISTER.write().unwrap_or_else(PoisonError::into_inner);
    parts.into_iter().for_each(|part| register.add(part));
}

/// Has a value hidden that others will take the place of: the last of these are, and those before them are worth nothing
/// any more.
pub(crate) fn register_passing(value: &str) {
    register(value);
    let mut passing = PASSING.lock().unwrap_or_else(PoisonError::into_inner);
    if !passing.iter().any(|known| **known == *value) {
        passing.push_back(value.into());
    }
    if passing.len() > MAX_PASSING
        && let Some(oldest) = passing.pop_front()
    {
        let mut register = REGISTER.write().unwrap_or_else(PoisonError::into_inner);
        parts(&oldest).into_iter().for_each(|part| register.forget(part));
    }
}

/// Returns the parts by which a value is known.
fn parts(value: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let lines = value.lines().map(str::trim);
    let after_scheme = value.split_once(' ').filter(|(scheme, _)| scheme.chars().all(char::is_alphabetic));
    for part in lines.chain([value, value.trim()]).chain(after_scheme.map(|(_, rest)| rest.trim())) {
        if part.chars().count() >= MIN_CHARS {
            parts.push(part);
        }
    }
    parts
}

fn insert(forms: &mut Vec<Box<str>>, form: String) {
    if let Err(place) = forms.binary_search_by(|known| (**known).cmp(&form)) {
        forms.insert(place, form.into());
    }
}

/// Returns what takes out all secrets that are known.
pub fn redactor() -> Redactor {
    Redactor(REGISTER.read().unwrap_or_else(PoisonError::into_inner))
}

/// Returns a text with `***` in place of every secret in it.
pub fn redact(text: &str) -> Cow<'_, str> {
    redactor().redact(text)
}

/// Does the same for a text that was cut off: the beginning of a secret at its end is hidden, too.
pub fn redact_cut(text: &str) -> Cow<'_, str> {
    redactor().redact_cut(text)
}

impl Redactor {
    /// Returns a text with `***` in place of every secret in it.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.redact(text)
    }

    /// Does the same for a text that was cut off.
    pub fn redact_cut<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = text.trim_end_matches('\u{fffd}');
        match self.0.begun_at_end(text) {
            Some(start) => Cow::Owned(self.0.redact(&text[..start]).into_owned() + HIDDEN),
            None => self.0.redact(text),
        }
    }
}

impl Register {
    const fn new() -> Self {
        Self { forms: Vec::new(), bare: Vec::new(), sieve: Sieve::new() }
    }

    fn add(&mut self, value: &str) {
        for form in forms::of(value) {
            self.sieve.add(form.as_bytes());
            insert(&mut self.forms, form);
        }
        for form in forms::bare(value) {
            self.sieve.add_escaped(form.as_bytes());
            insert(&mut self.bare, form);
        }
    }

    fn forget(&mut self, value: &str) {
        let (forms, bare) = (forms::of(value), forms::bare(value));
        self.forms.retain(|known| !forms.iter().any(|form| **known == **form));
        self.bare.retain(|known| !bare.iter().any(|form| **known == **form));
        self.sieve = Sieve::new();
        self.forms.iter().for_each(|form| self.sieve.add(form.as_bytes()));
        self.bare.iter().for_each(|form| self.sieve.add_escaped(form.as_bytes()));
    }

    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = String::new();
        let mut copied = 0;
        let bytes = text.as_bytes();
        let may_have_escapes = escapes::may_have_escapes(text);
        let mut as_it_is = self.next_as_it_is(bytes, 0);
        let mut escaped = may_have_escapes.then(|| self.next_escaped(bytes, 0)).flatten();
        // What begins first is taken out; of two that begin together, the longer.
        while let Some(found) = match (&as_it_is, &escaped) {
            (Some(one), Some(other)) if one.start == other.start => Some(one.start..one.end.max(other.end)),
            (Some(one), Some(other)) if other.start < one.start => Some(other.clone()),
            (one, other) => one.clone().or_else(|| other.clone()),
        } {
            // Forms are text, so both ends are between characters.
            shown.push_str(&text[copied..found.start]);
            shown.push_str(HIDDEN);
            copied = found.end;
            let is_passed = |one: &Option<Range<usize>>| one.as_ref().is_some_and(|one| one.start < copied);
            if is_passed(&as_it_is) {
                as_it_is = self.next_as_it_is(bytes, copied);
            }
            if is_passed(&escaped) {
                escaped = self.next_escaped(bytes, copied);
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        shown.push_str(&text[copied..]);
        Cow::Owned(shown)
    }

    /// Returns where the next form stands, and the longest of those that begin there.
    fn next_as_it_is(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        let mut at = from;
        while let Some(window) = self.sieve.next(text, at) {
            let starts = window.saturating_sub(STRIDE - 1).max(from)..=window;
            let mut found =
                starts.filter_map(|start| Some(start..start + self.longest_at(text.get(start..)?)?));
            if let Some(found) = found.next() {
                return Some(found);
            }
            at = window + STRIDE;
        }
        None
    }

    /// Returns where the next one stands whose characters may be escaped, and the longest of those that begin there.
    fn next_escaped(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        let mut at = from;
        while let Some(start) = self.sieve.next_escaped(text, at).filter(|at| at + MIN_CHARS <= text.len()) {
            if let Some(bytes) = self.longest_escaped_at(&text[start..]) {
                return Some(start..start + bytes);
            }
            at = start + 1;
        }
        None
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
