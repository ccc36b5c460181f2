//! What keys and news make of the state. Nothing here talks to anybody: what is to be done is returned.

mod actions;
mod copy;
mod modals;
mod news;
mod orders;

#[cfg(test)]
mod tests;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::effect::{Effect, Fetch};
use crate::input::{Action, Place};
use crate::state::{Link, Modal, Note, Screen, State};
use orders::READ_ONLY;

/// Numbers and lists are not read anew more often.
const AGAIN_MS: u64 = 2000;
const TOOLS_AGAIN_MS: u64 = 1000;

impl State {
    /// Takes a key.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        // What was said of the key before has been seen.
        self.note = None;
        let before = self.modals.len();
        let effects = match self.keys.action(key, &[Place::Anywhere]) {
            Some(Action::Suspend) => vec![Effect::Suspend],
            Some(Action::Redraw) => vec![Effect::Redraw],
            Some(_) => vec![Effect::Quit],
            None if !self.modals.is_empty() => self.modal_key(key),
            None if self.prompt.is_some() => self.prompt_key(key),
            None => match self.keys.action(key, &[Place::Looking]) {
                Some(action) => self.act(action),
                None => Vec::new(),
            },
        };
        self.leave_forms_out(before);
        self.settle();
        self.permitted(effects)
    }

    /// Opens nothing that would only be refused once it is filled in.
    fn leave_forms_out(&mut self, before: usize) {
        let is_new = self.is_read_only && self.modals.len() > before;
        if is_new && matches!(self.modals.last(), Some(Modal::Form(_) | Modal::Confirm(_))) {
            self.modals.truncate(before);
            self.complain(READ_ONLY);
        }
    }

    /// Takes text that was pasted: it is typed, and never a command.
    pub(crate) fn paste(&mut self, text: &str) -> Vec<Effect> {
        let is_typed = self.prompt.is_some()
            || matches!(self.modals.last(), Some(Modal::Form(_) | Modal::Palette(_) | Modal::Keys { .. }));
        let mut effects = Vec::new();
        for c in text.chars().filter(|c| is_typed && !c.is_control()) {
            let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            effects.extend(if self.modals.is_empty() { self.prompt_key(key) } else { self.modal_key(key) });
        }
        self.settle();
        effects
    }

    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        self.size = size;
        self.settle();
    }

    /// Takes the time, and asks for what has become old.
    pub(crate) fn tick(&mut self, now: u64) -> Vec<Effect> {
        self.now = now;
        if self.note.as_ref().is_some_and(|Note { until, .. }| *until <= now) {
            self.note = None;
        }
        let mut effects = Vec::new();
        if self.link == Link::Live {
            if self.model.is_stale && now >= self.servers_at + AGAIN_MS {
                (self.model.is_stale, self.servers_at) = (false, now);
                effects.push(Effect::Fetch(Fetch::Servers));
            }
            effects.extend(self.wanted_tools());
        }
        self.settle();
        effects
    }

    /// Asks for the tools where they are looked at and not known as they are. Nothing else asks: it may start servers.
    fn wanted_tools(&mut self) -> Option<Effect> {
        use crate::model::tools::Load;
        let tools = &mut self.model.tools;
        let is_old = tools.is_stale || !tools.starting.is_empty() || tools.load == Load::NotAsked;
        let is_due = self.now >= self.tools_at + TOOLS_AGAIN_MS || tools.load == Load::NotAsked;
        if self.screen != Screen::Tools || !is_old || tools.load == Load::Asked || !is_due {
            return None;
        }
        (tools.load, tools.is_stale, self.tools_at) = (Load::Asked, false, self.now);
        Some(Effect::Fetch(Fetch::Tools))
    }

    /// Leaves out what must not be done where things may only be looked at.
    fn permitted(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        if !self.is_read_only {
            return effects;
        }
        let changes = |effect: &Effect| {
            matches!(
                effect,
                Effect::Order { .. } | Effect::Ask { .. } | Effect::Answer { .. } | Effect::PutConfig { .. }
            )
        };
        if effects.iter().any(changes) {
            self.complain(READ_ONLY);
        }
        effects.into_iter().filter(|effect| !changes(effect)).collect()
    }
}
