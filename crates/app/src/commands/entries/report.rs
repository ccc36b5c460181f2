//! What is said of a change: which servers came, what they start, and what is missing for it.

use manifold_admin::EntriesChanged;

use super::entry::Entry;
use super::put::Fate;
use crate::commands::config_change::Changed;
use crate::output::Output;

/// What a server will do, in a few words without secrets.
pub(super) struct Said(String);

impl Said {
    /// `hidden` are the places of what must not be seen, such as `args[2]`.
    pub(super) fn of(entry: &Entry, hidden: &[String]) -> Self {
        let is_hidden = |at: usize| hidden.contains(&format!("args[{at}]"));
        Self(match (entry.command(), entry.url()) {
            (Some(words), _) => {
                let shown = |(at, word): (usize, &String)| match at.checked_sub(1) {
                    Some(at) if is_hidden(at) => "***".to_owned(),
                    _ => quoted(word),
                };
                let words: Vec<String> = words.iter().enumerate().map(shown).collect();
                format!("starts {}", words.join(" "))
            }
            (None, Some(url)) => format!("is reached at {}", origin(&url)),
            (None, None) => "is built in".to_owned(),
        })
    }
}

fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "'\"\\".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Returns scheme, host and port: what else is in an address may be a secret.
fn origin(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "***".to_owned() };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}")
}

/// What came of a command.
pub(in crate::commands) struct Report {
    pub(super) document: EntriesChanged,
    lines: Vec<String>,
}

impl Report {
    pub(in crate::commands) fn new(changed: &Changed, kind: &str, is_dry_run: bool) -> Self {
        let document = EntriesChanged {
            file: changed.base.path.display().to_string(),
            changed: changed.is_change(),
            dry_run: is_dry_run,
            problems: changed.report.problems.clone(),
            answered_by: kind.to_owned(),
            ..EntriesChanged::default()
        };
        Self { document, lines: Vec::new() }
    }

    /// Tells what became of a server that was put in.
    pub(super) fn server(&mut self, id: &str, fate: Fate, said: &Said) {
        let Said(said) = said;
        let is_dry_run = self.document.dry_run;
        let list = match fate {
            Fate::Added => &mut self.document.added,
            Fate::Replaced => &mut self.document.replaced,
            Fate::Same => &mut self.document.same,
        };
        list.push(id.to_owned());
        self.lines.push(match (fate, is_dry_run) {
            (Fate::Added, false) => format!("{id} has been added; it {said}"),
            (Fate::Added, true) => format!("{id} would be added; it {said}"),
            (Fate::Replaced, false) => format!("{id} has been replaced; it {said}"),
            (Fate::Replaced, true) => format!("{id} would be replaced; it {said}"),
            (Fate::Same, _) => format!("{id} is there already; it {said}"),
        });
    }

    /// Tells something else.
    pub(in crate::commands) fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    pub(in crate::commands) fn show(&self, output: &Output) {
        if output.is_json() {
            output.json(&self.document);
            return;
        }
        self.lines.iter().for_each(|line| _ = output.line(line));
        self.document.problems.iter().for_each(|problem| output.remark(&problem.to_string()));
    }
}
