//! Everything that decides what is seen.

mod layout;
mod list;
mod modal;
pub(crate) mod palette;
mod rows;

use crate::Look;
use crate::effect::ConfigDraft;
use crate::form::Line;
use crate::input::Keys;
use crate::model::Model;
pub(crate) use layout::Layout;
pub(crate) use list::List;
pub(crate) use modal::{Confirm, FormModal, Modal, Purpose, TextModal, Waiting};

/// How long something that was said stays.
pub(crate) const NOTE_MS: u64 = 6000;

#[derive(Debug)]
pub(crate) struct State {
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// Milliseconds since the start.
    pub(crate) now: u64,
    pub(crate) look: Look,
    pub(crate) is_read_only: bool,
    pub(crate) namespace: Option<String>,
    pub(crate) keys: Keys,
    pub(crate) link: Link,
    pub(crate) model: Model,
    pub(crate) screen: Screen,
    pub(crate) lists: [List; 7],
    pub(crate) focus: Focus,
    pub(crate) pane: Pane,
    /// How far the detail is scrolled.
    pub(crate) detail_top: usize,
    /// A filter that is being typed.
    pub(crate) prompt: Option<Line>,
    pub(crate) modals: Vec<Modal>,
    /// The config as somebody edited it, until it is taken over.
    pub(crate) config_draft: Option<ConfigDraft>,
    pub(crate) note: Option<Note>,
    /// Numbers what is asked of servers.
    pub(crate) asked: u64,
    /// Tells streams of frames apart.
    pub(crate) traffic_run: u64,
    /// When numbers and lists were last asked for.
    pub(crate) servers_at: u64,
    pub(crate) tools_at: u64,
}

/// How the connection is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    Connecting,
    Live,
    /// It is tried again at that moment.
    Lost {
        why: String,
        retry_at: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    Servers,
    Tools,
    Traffic,
    Clients,
    Namespaces,
    Logs,
    Problems,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    List,
    Detail,
}

/// How much room the detail has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pane {
    Usual,
    Wide,
    Full,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) is_bad: bool,
    pub(crate) until: u64,
}

impl Screen {
    pub(crate) const ALL: [Self; 7] = [
        Self::Servers,
        Self::Tools,
        Self::Traffic,
        Self::Clients,
        Self::Namespaces,
        Self::Logs,
        Self::Problems,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Servers => "Servers",
            Self::Tools => "Tools",
            Self::Traffic => "Traffic",
            Self::Clients => "Clients",
            Self::Namespaces => "Namespaces",
            Self::Logs => "Logs",
            Self::Problems => "Problems",
        }
    }

    pub(crate) fn index(self) -> usize {
        Self::ALL.iter().position(|screen| *screen == self).unwrap_or_default()
    }
}

impl State {
    pub(crate) fn new(keys: Keys, options: &crate::Options, size: (u16, u16)) -> Self {
        let mut lists: [List; 7] = Default::default();
        lists[Screen::Traffic.index()].follows = true;
        lists[Screen::Logs.index()].follows = true;
        let note = options.remark.as_ref().map(|text| Note {
            text: manifold_admin::escaped_line(text).into_owned(),
            is_bad: false,
            until: NOTE_MS,
        });
        Self {
            size,
            now: 0,
            look: options.look,
            is_read_only: options.read_only,
            namespace: options.namespace.clone(),
            keys,
            link: Link::Connecting,
            model: Model::default(),
            screen: Screen::Servers,
            lists,
            focus: Focus::List,
            pane: Pane::Usual,
            detail_top: 0,
            prompt: None,
            modals: Vec::new(),
            config_draft: None,
            note,
            asked: 0,
            traffic_run: 0,
            servers_at: 0,
            tools_at: 0,
        }
    }

    pub(crate) fn list(&self) -> &List {
        &self.lists[self.screen.index()]
    }

    pub(crate) fn list_mut(&mut self) -> &mut List {
        &mut self.lists[self.screen.index()]
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::of(self.size, self.focus, self.pane)
    }

    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.note = Some(Note { text: text.into(), is_bad: false, until: self.now + NOTE_MS });
    }

    pub(crate) fn complain(&mut self, text: &str) {
        let text = manifold_admin::escaped_line(text).into_owned();
        self.note = Some(Note { text, is_bad: true, until: self.now + 2 * NOTE_MS });
    }

    /// Brings the lists up to what is known, and the selection into view.
    pub(crate) fn settle(&mut self) {
        let rows = self.rows();
        let height = usize::from(self.layout().list_rows());
        self.list_mut().take(rows, height);
    }

    /// Returns how soon the picture changes though nothing happens, in milliseconds; `None`: it does not.
    pub(crate) fn next_change(&self) -> Option<u64> {
        const SECOND: u64 = 1000;
        let note = self.note.as_ref().map(|note| note.until.saturating_sub(self.now));
        let is_counting = !matches!(self.link, Link::Live)
            || self.modals.iter().any(|modal| matches!(modal, Modal::Waiting(_)))
            || self.has_young_age()
            || self.model.is_stale
            || self.model.pulses.get("").is_some_and(|pulse| pulse.moves(self.now))
            || self.screen == Screen::Tools && !self.model.tools.starting.is_empty();
        let tick = is_counting.then_some(SECOND).or_else(|| self.has_age().then_some(30 * SECOND));
        note.into_iter().chain(tick).min()
    }

    /// Returns whether an age is shown that has less than a minute, and so another text every second.
    fn has_young_age(&self) -> bool {
        let is_young = |since: Option<u64>, at: u64| {
            since.is_some_and(|since| since + self.now.saturating_sub(at) < 60_000)
        };
        match self.screen {
            Screen::Servers => self.model.servers.iter().any(|one| is_young(one.it.since_ms, one.at)),
            Screen::Clients => {
                self.model.clients.iter().any(|one| is_young(Some(one.it.connected_ms), one.at))
            }
            Screen::Problems => {
                self.model.problems(self.now).iter().any(|one| one.since_ms.is_some_and(|ms| ms < 60_000))
            }
            _ => false,
        }
    }

    fn has_age(&self) -> bool {
        matches!(self.screen, Screen::Servers | Screen::Clients | Screen::Problems)
    }
}
