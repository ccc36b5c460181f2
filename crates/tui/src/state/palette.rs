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
    /// It takes more words, or a file, than a list of commands can ask for: the shell does it.
    Shell {
        line: &'static str,
    },
}

/// What is done from a shell, by the line that does it.
const SHELL: [(&str, &str, &str); 15] = [
    ("add", "manifold add NAME -- CMD, or add NAME URL", "Put a server into the config"),
    ("add-json", "manifold add-json NAME JSON", "Put a server into the config, as JSON"),
    ("remove", "manifold remove NAME", "Take a server out of the config"),
    ("rename", "manifold rename NAME NEW", "Call a server something else"),
    ("import", "manifold import", "Take over the servers of other programs"),
    ("install", "manifold install CLIENT", "Put Manifold into a client"),
    ("uninstall", "manifold uninstall CLIENT", "Take Manifold out of a client"),
    ("undo", "manifold undo", "Take back the last change of a file"),
    ("ns allow", "manifold ns allow NAMESPACE SERVER.TOOL", "Allow a tool in a namespace"),
    ("ns deny", "manifold ns deny NAMESPACE SERVER.TOOL", "Deny a tool in a namespace"),
    ("complete", "manifold complete prompt NAME ARGUMENT=VALUE", "Complete an argument as a server would"),
    ("config check", "manifold config check", "Say what is wrong with the config"),
    ("record export", "manifold record export NAME --format har", "Write a recording for another program"),
    ("open", "manifold open", "The same in a browser"),
    ("wait", "manifold wait SERVER", "Wait until a server is ready"),
];

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
    entries.push(entry(
        "ns, namespaces with what they show".to_owned(),
        "As JSON",
        show("/v1/namespaces", "namespaces"),
    ));
    entries.push(entry("clients, as JSON".to_owned(), "Who is connected", show("/v1/clients", "clients")));
    entries.push(entry("record list".to_owned(), "The recordings", show("/v1/recordings", "recordings")));
    entries.push(entry(
        "daemon status".to_owned(),
        "The daemon, and who is attached",
        show("/v1/daemon", "daemon"),
    ));
    if state.is_read_only {
        return entries;
    }
    entries.push(entry("doctor".to_owned(), "Look for what is wrong", show("/v1/doctor", "doctor")));
    entries.push(entry(
        "undo --list".to_owned(),
        "What can be taken back",
        show("/v1/setup/undo", "what can be taken back"),
    ));
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
        ]
        .into_iter()
        .chain(one.it.sign_in.iter().flat_map(|_| SIGN_IN))
        {
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
    for (verb, line, about) in SHELL {
        entries.push(entry(verb.to_owned(), about, Act::Shell { line }));
    }
    for tool in &model.tools.items {
        let name = &tool.listed.name;
        let about = tool.listed.description.as_deref().unwrap_or_default();
        let about: String = about.chars().take(200).collect();
        entries.push(entry(format!("call {name}"), &about, Act::Call { tool: name.clone() }));
    }
    entries
}

/// Of servers that one signs in to.
const SIGN_IN: [(&str, &str); 2] =
    [("login", "Sign in to it"), ("logout", "Give up what it was signed in to with")];

fn show(path: &'static str, title: &'static str) -> Act {
    Act::Show { path, title }
}

#[cfg(test)]
mod tests {
    use manifold_admin::ROUTES;

    use super::*;

    /// Verbs that have another word here.
    const OTHERWISE: [(&str, &str); 11] = [
        ("status", "about"),
        ("list", "servers"),
        ("get", "servers"),
        ("tool", "tools"),
        ("watch", "traffic"),
        ("config show", "edit config"),
        ("config edit", "edit config"),
        ("login", "sign in"),
        // Of servers that one signs in to.
        ("logout", "sign in"),
        // Of recordings that run.
        ("record stop", "record"),
        ("record export", "record export"),
    ];

    // S1-1: whatever the command line does is found here, done or named.
    #[test]
    fn every_verb_has_an_entry() {
        let state = crate::tests::world::state((160, 50));
        let entries = entries(&state);
        let verbs = ROUTES.iter().flat_map(|route| route.verbs);
        for verb in verbs {
            let here = OTHERWISE.iter().find(|(known, _)| known == verb).map_or(*verb, |(_, here)| here);
            let is_there = entries.iter().any(|entry| entry.text.starts_with(here));
            assert!(is_there, "`{verb}` has no entry that begins with `{here}`");
        }
        for (verb, line, _) in SHELL {
            assert!(line.starts_with(&format!("manifold {verb}")), "{line}");
        }
    }

    #[test]
    fn letters_in_their_order_fit_and_beginnings_of_words_fit_best() {
        assert!(score("restart git", "rg") > score("restart fig", "rg"));
        assert!(score("start git", "stgit") > score("start digits", "stgit"));
        assert_eq!(score("stop git", "gits"), None);
        assert!(score("stop", "").is_some());
    }
}
