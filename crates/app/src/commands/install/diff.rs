//! What a change makes of a file, line by line, for the one who is asked to trust it.

use manifold_config::{load_text, redact};

use super::super::verb::Verb;
use super::ClientFile;
use crate::output::{Tone, escaped_text};

/// More lines than this are not compared one by one.
const MAX_COMPARED: usize = 4000;

/// A line that goes or comes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'t> {
    Gone(&'t str),
    New(&'t str),
}

/// Shows the lines that go and those that come. `ours` is our entry as this client writes it: of lines in which anything
/// else stands, only the keys are shown.
pub(super) fn show(file: &ClientFile, new: &str, ours: &str, verb: &Verb) {
    // Secrets are known once the file has been read as a config.
    let _ = load_text(&file.text, Some(file.path()), verb.options);
    let paint = verb.output.paint();
    let lines = without_commas(lines(&file.text, new));
    // Where our entry shares its line with others, entries say more than lines.
    let shows_ours = lines.iter().any(|line| matches!(line, Line::New(text) if is_told(text, ours)));
    if !shows_ours && !lines.is_empty() {
        return show_entries(file, new, ours, verb);
    }
    for line in lines {
        let (sign, tone, text) = match line {
            Line::Gone(text) => ('-', Tone::Bad, text),
            Line::New(text) => ('+', Tone::Good, text),
        };
        let text = if is_ours(text, ours) { text.to_owned() } else { hidden(text) };
        let text = redact(&text).into_owned();
        verb.output.text(&paint.tone(tone, &escaped_text(&format!("  {sign} {text}"))));
    }
}

/// Shows which entries go and which come; of those that are not ours, the names.
fn show_entries(file: &ClientFile, new: &str, ours: &str, verb: &Verb) {
    let paint = verb.output.paint();
    let entry = |text: &str, name: &str| file.client.entry_in(text, file.path(), name).ok().flatten();
    let names = |text: &str| file.client.names_in(text, file.path()).unwrap_or_default();
    let mut all = names(&file.text);
    all.extend(names(new).into_iter().filter(|name| !names(&file.text).contains(name)));
    for name in all {
        let (before, after) = (entry(&file.text, &name), entry(new, &name));
        if before == after {
            continue;
        }
        let told = |entry: &str| if is_ours(entry, ours) { entry.to_owned() } else { "***".to_owned() };
        let show = |sign: char, tone: Tone, entry: &str| {
            let text = redact(&format!("  {sign} {name}: {}", told(entry))).into_owned();
            verb.output.text(&paint.tone(tone, &escaped_text(&text)));
        };
        before.iter().for_each(|entry| show('-', Tone::Bad, entry));
        after.iter().for_each(|entry| show('+', Tone::Good, entry));
    }
}

/// Returns whether a line tells something of our entry.
fn is_told(line: &str, ours: &str) -> bool {
    line.contains(char::is_alphanumeric) && is_ours(line, ours)
}

/// Returns whether nothing stands in a line but words of our entry.
pub(super) fn is_ours(line: &str, ours: &str) -> bool {
    let is_between = |c: char| c.is_whitespace() || "\"'{}[],:=".contains(c);
    line.split(is_between).filter(|word| !word.is_empty()).all(|word| ours.contains(word))
}

/// Leaves out lines that only got a comma, or lost one.
pub(super) fn without_commas(lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    let plain = |text: &str| text.trim_end().trim_end_matches(',').to_owned();
    let texts = |wants_new: bool| -> Vec<String> {
        let texts = lines.iter().filter_map(|line| match line {
            Line::New(text) if wants_new => Some(plain(text)),
            Line::Gone(text) if !wants_new => Some(plain(text)),
            _ => None,
        });
        texts.collect()
    };
    let (gone, new) = (texts(false), texts(true));
    let has_twin = |line: &Line<'_>| match line {
        Line::Gone(text) => new.contains(&plain(text)),
        Line::New(text) => gone.contains(&plain(text)),
    };
    lines.into_iter().filter(|line| !has_twin(line)).collect()
}

/// Returns what differs between two texts.
pub(super) fn lines<'t>(old: &'t str, new: &'t str) -> Vec<Line<'t>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(one, other)| one == other);
    let tail = tail.count();
    let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if old.len() * new.len() > MAX_COMPARED * MAX_COMPARED / 16 {
        let gone = old.iter().map(|line| Line::Gone(line));
        return gone.chain(new.iter().map(|line| Line::New(line))).collect();
    }
    compared(old, new)
}

/// Finds the longest common run of lines, and returns what is not in it.
fn compared<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    // How many lines are common to the rest of both.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for one in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            common[one * width + other] = if old[one] == new[other] {
                common[(one + 1) * width + other + 1] + 1
            } else {
                common[(one + 1) * width + other].max(common[one * width + other + 1])
            };
        }
    }
    let mut lines = Vec::new();
    let (mut one, mut other) = (0, 0);
    while one < old.len() || other < new.len() {
        if one < old.len() && other < new.len() && old[one] == new[other] {
            (one, other) = (one + 1, other + 1);
        } else if other == new.len()
            || (one < old.len() && common[(one + 1) * width + other] >= common[one * width + other + 1])
        {
            lines.push(Line::Gone(old[one]));
            one += 1;
        } else {
            lines.push(Line::New(new[other]));
            other += 1;
        }
    }
    lines
}

/// Hides the values in a line of somebody else's: its key, and what brackets it opens or closes, are enough to know it by.
pub(super) fn hidden(line: &str) -> String {
    let is_plain = |c: char| c.is_whitespace() || "{}[],:".contains(c);
    if line.chars().all(is_plain) {
        return line.to_owned();
    }
    let trimmed = line.trim_start().trim_start_matches("- ");
    let indent = &line[..line.len() - trimmed.len()];
    // A table of TOML is a key alone.
    if trimmed.starts_with('[') && trimmed.trim_end().ends_with(']') && !trimmed.contains(['"', '\'', ',']) {
        return line.to_owned();
    }
    let end = match trimmed.strip_prefix('"').and_then(|rest| rest.find('"')) {
        Some(end) => end + 2,
        None => trimmed.find(|c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c)).unwrap_or(0),
    };
    let (key, rest) = trimmed.split_at(end.min(trimmed.len()));
    let value = rest.trim_start_matches([' ', ':', '=']);
    let between = &rest[..rest.len() - value.len()];
    match between.contains([':', '=']) {
        true if value.chars().all(is_plain) => line.to_owned(),
        true => format!("{indent}{key}{between}***"),
        false => format!("{indent}***"),
    }
}
