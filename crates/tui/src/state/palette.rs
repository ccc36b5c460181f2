//! Every command by any part of its name.

use manifold_admin::State as ServerState;

use super::{Purpose, State};
use crate::form::Line;
use crate::input::{ACTIONS, Action};

/// So many are shown and kept.
const MAX_MATCHES: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Palette {
    pub(crate) line: Line,
    pub(crate) at: usize,
    entries: Vec<Entry>,
    /// Those that fit what is typed, the best first.
    pub(crate) matches: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) about: String,
    pub(crate) act: Act,
}

/// What a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    Action(Action),
    /// A verb on a server.
    Server {
        verb: &'static str,
        name: String,
    },
    Call {
        tool: String,
    },
    Disconnect {
        client: u64,
    },
    Daemon {
        verb: &'static str,
    },
    Show {
        path: &'static str,
        title: &'static str,
    },
    Form(Purpose),
    StopRecording {
        name: String,
    },
}

impl Palette {
    pub(crate) fn new(state: &State) -> Self {
        let mut palette = Self { entries: entries(state), ..Self::default() };
        palette.search();
        palette
    }

    /// Finds what fits what is typed.
    pub(crate) fn search(&mut self) {
        let wanted = self.line.text.to_lowercase();
        let scored = self.entries.iter().enumerate();
        let mut scored: Vec<(i64, usize)> =
            scored.filter_map(|(at, entry)| Some((score(&entry.text, &wanted)?, at))).collect();
        scored.sort_by_key(|(score, at)| (-score, *at));
        self.matches = scored.into_iter().take(MAX_MATCHES).map(|(_, at)| at).collect();
        self.at = 0;
    }

    pub(crate) fn entry(&self, at: usize) -> Option<&Entry> {
        self.entries.get(*self.matches.get(at)?)
    }

    pub(crate) fn chosen(&self) -> Option<&Entry> {
        self.entry(self.at)
    }
}

/// Returns how well a text fits: all letters in their order, better side by side and at the beginnings of words.
pub(crate) fn score(text: &str, wanted: &str) -> Option<i64> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let (mut total, mut from, mut last) = (0, 0, None);
    for c in wanted.chars() {
        let at = (from..text.len()).find(|at| text[*at] == c)?;
        let begins_word = at == 0 || !text[at - 1].is_alphanumeric();
        total += match (last, begins_word) {
            (Some(last), _) if last + 1 == at => 8,
            (_, true) => 6,
            _ => 1,
        };
        (last, from) = (Some(at), at + 1);
    }
    // Of two that fit alike, the shorter.
    Some(total * 100 - text.len() as i64)
}

fn entries(state: &State) -> Vec<Entry> {
    let model = &state.model;
    let entry = |text: String, about: &str, act| Entry { text, about: about.to_owned(), act };
    let mut entries: Vec<Entry> = Vec::new();
    for row in ACTIONS.iter().filter(|row| row.place == crate::input::Place::Looking) {
        let is_move = matches!(
            row.action,
            Action::Down
                | Action::Up
                | Action::Open
                | Action::Back
                | Action::Palette
                | Action::PageUp
                | Action::PageDown
        );
        // Those of servers and tools have entries that name them.
        let is_named = matches!(
            row.action,
            Action::Start
                | Action::Stop
                | Action::Restart
                | Action::Enable
                | Action::Call
                | Action::Disconnect
        );
        if !is_move && !is_named {
            entries.push(entry(row.name.replace('-', " "), row.about, Act::Action(row.action)));
        }
    }
    entries.push(entry("audit".to_owned(), "What operators changed", show("/v1/audit", "audit")));
    entries.push(entry("resources".to_owned(), "What can be read", show("/v1/resources", "resources")));
    entries.push(entry("prompts".to_owned(), "What prompts there are", show("/v1/prompts", "prompts")));
    entries.push(entry(
        "permissions".to_owned(),
        "The rules of all namespaces",
        show("/v1/permissions", "permissions"),
    ));
    entries.push(entry("about".to_owned(), "The gateway that answers", show("/v1/about", "about")));
    if state.is_read_only {
        return entries;
    }
    entries.push(entry("read".to_owned(), "Read a resource by its address", Act::Form(Purpose::Read)));
    entries.push(entry("prompt".to_owned(), "Get a prompt by its name", Act::Form(Purpose::Prompt)));
    for one in &model.servers {
        let name = one.it.key.to_string();
        let toggle = if one.it.state == ServerState::Disabled { "enable" } else { "disable" };
        for (verb, about) in [
            ("start", "Start it"),
            ("stop", "Stop it"),
            ("restart", "Start it anew"),
            ("refresh", "Read its lists anew"),
            (toggle, "In the config"),
        ] {
            entries.push(entry(format!("{verb} {name}"), about, Act::Server { verb, name: name.clone() }));
        }
    }
    for one in &model.clients {
        let name = one.it.name.as_deref().unwrap_or("client");
        let act = Act::Disconnect { client: one.it.id };
        entries.push(entry(format!("clients disconnect {} {name}", one.it.id), "End its session", act));
    }
    for one in model.recordings.iter().filter(|one| one.is_running) {
        let act = Act::StopRecording { name: one.name.clone() };
        entries.push(entry(format!("record stop {}", one.name), "End the recording", act));
    }
    entries.push(entry("record start".to_owned(), "Record the traffic", Act::Form(Purpose::Record)));
    for (verb, about) in [
        ("reload", "Read the config anew"),
        ("restart", "End the daemon and start another"),
        ("upgrade", "Have the installed program take its place"),
        ("stop", "End the daemon, and its servers"),
    ] {
        entries.push(entry(format!("daemon {verb}"), about, Act::Daemon { verb }));
    }
    for tool in &model.tools.items {
        let name = &tool.listed.name;
        let about = tool.listed.description.as_deref().unwrap_or_default();
        let about: String = about.chars().take(200).collect();
        entries.push(entry(format!("call {name}"), &about, Act::Call { tool: name.clone() }));
    }
    entries
}

fn show(path: &'static str, title: &'static str) -> Act {
    Act::Show { path, title }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_their_order_fit_and_beginnings_of_words_fit_best() {
        assert!(score("restart git", "rg") > score("restart fig", "rg"));
        assert!(score("start git", "stgit") > score("start digits", "stgit"));
        assert_eq!(score("stop git", "gits"), None);
        assert!(score("stop", "").is_some());
    }
}
