//! What actions do where lists and details are looked at.

use crossterm::event::{KeyCode, KeyEvent};

use crate::effect::{Effect, Fetch};
use crate::form::Line;
use crate::input::Action;
use crate::model::traffic::Stream;
use crate::state::palette::Palette;
use crate::state::{Focus, Modal, Pane, Screen, State};

impl State {
    pub(super) fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Quit => return vec![Effect::Quit],
            Action::Suspend => return vec![Effect::Suspend],
            Action::Redraw => return vec![Effect::Redraw],
            Action::Screen(index) => return self.show(Screen::ALL[index.min(6)]),
            Action::NextScreen | Action::PreviousScreen => {
                let step = if action == Action::NextScreen { 1 } else { 6 };
                return self.show(Screen::ALL[(self.screen.index() + step) % 7]);
            }
            Action::Down | Action::Up | Action::PageDown | Action::PageUp | Action::First | Action::Last => {
                self.step(action);
            }
            Action::Open => return self.open(),
            Action::Back => self.back(),
            Action::Filter => self.prompt = Some(Line::new(&self.list().filter)),
            Action::NextMatch => self.list_mut().next_match(true),
            Action::PreviousMatch => self.list_mut().next_match(false),
            Action::Follow => {
                let follows = !self.list().follows;
                self.list_mut().follows = follows;
                self.say(if follows { "following what is new" } else { "staying here" });
            }
            Action::Palette => self.modals.push(Modal::Palette(Palette::new(self))),
            Action::Keys => self.modals.push(Modal::Keys { line: Line::default(), top: 0 }),
            Action::Start => return self.order_selected("start"),
            Action::Stop => return self.order_selected("stop"),
            Action::Restart => return self.order_selected("restart"),
            Action::Enable => return self.order_selected("enable"),
            Action::Refresh if self.screen == Screen::Tools => self.model.tools.is_stale = true,
            Action::Refresh => return self.order_selected("refresh"),
            Action::EditConfig => return self.edit_config(),
            Action::SignIn => return self.order_selected("login"),
            Action::Logs => return self.logs_of_selected(),
            Action::Call => return self.call_selected(),
            Action::Disconnect => return self.disconnect_selected(),
            Action::Pause => {
                let is_paused = !self.model.traffic.is_paused;
                self.model.traffic.pause(is_paused);
                self.say(if is_paused { "paused: the view stands still" } else { "going on" });
            }
            Action::Replay => return self.replay(),
            Action::Record => return self.record(),
            Action::CopyCell => return self.copy_name(),
            Action::CopyAll => return self.copy_all(),
            Action::Wider => self.pane = if self.pane == Pane::Wide { Pane::Usual } else { Pane::Wide },
            Action::Full => {
                self.pane = if self.pane == Pane::Full { Pane::Usual } else { Pane::Full };
                self.focus = if self.pane == Pane::Full { Focus::Detail } else { Focus::List };
            }
            Action::Mark => {
                self.list_mut().mark();
                let next = self.list().at + 1;
                self.list_mut().select(next);
            }
            // Keys of forms mean nothing here.
            Action::Next | Action::Previous | Action::Send | Action::EditJson | Action::Toggle => {}
        }
        Vec::new()
    }

    /// Goes to a screen.
    pub(super) fn show(&mut self, screen: Screen) -> Vec<Effect> {
        let before = std::mem::replace(&mut self.screen, screen);
        (self.focus, self.detail_top) = (Focus::List, 0);
        if self.pane == Pane::Full {
            self.pane = Pane::Usual;
        }
        let mut effects = Vec::new();
        if before == Screen::Traffic && screen != Screen::Traffic {
            // Bodies are kept for those who look.
            self.traffic_run += 1;
            self.model.traffic.stream = Stream::NotAsked;
            effects.push(Effect::CloseTraffic);
        }
        match screen {
            Screen::Traffic if before != Screen::Traffic => {
                effects.extend(self.open_traffic());
                effects.push(Effect::Fetch(Fetch::Recordings));
            }
            Screen::Tools => effects.extend(self.wanted_tools()),
            _ => {}
        }
        effects
    }

    /// Opens the stream of frames that fit the filter.
    pub(super) fn open_traffic(&mut self) -> Vec<Effect> {
        self.traffic_run += 1;
        self.model.traffic.clear();
        self.model.traffic.stream = Stream::Asked;
        let filter = self.lists[Screen::Traffic.index()].filter.clone();
        vec![Effect::Traffic { run: self.traffic_run, filter }]
    }

    fn step(&mut self, action: Action) {
        if self.focus == Focus::Detail {
            let page = (self.layout().detail_size().1 / 2).max(1);
            self.detail_top = match action {
                Action::Down => self.detail_top + 1,
                Action::Up => self.detail_top.saturating_sub(1),
                Action::PageDown => self.detail_top + page,
                Action::PageUp => self.detail_top.saturating_sub(page),
                Action::First => 0,
                _ => usize::MAX / 2,
            };
            // The view knows how long it is; never past its end.
            let (width, height) = self.layout().detail_size();
            let rows = crate::view::detail_rows(self, width);
            self.detail_top = self.detail_top.min(rows.saturating_sub(height));
            return;
        }
        let list = self.list_mut();
        let (at, page) = (list.at, list.page());
        list.select(match action {
            Action::Down => at + 1,
            Action::Up => at.saturating_sub(1),
            Action::PageDown => at + page,
            Action::PageUp => at.saturating_sub(page),
            Action::First => 0,
            _ => usize::MAX,
        });
        self.detail_top = 0;
    }

    fn open(&mut self) -> Vec<Effect> {
        if self.list().row().is_none() {
            return Vec::new();
        }
        (self.focus, self.detail_top) = (Focus::Detail, 0);
        match self.selected_tool() {
            Some(tool) if tool.listed.item.is_none() => {
                vec![Effect::Fetch(Fetch::Tool(tool.listed.name.clone()))]
            }
            _ => Vec::new(),
        }
    }

    fn back(&mut self) {
        if self.focus == Focus::Detail {
            self.focus = Focus::List;
            if self.pane == Pane::Full {
                self.pane = Pane::Usual;
            }
        }
    }

    fn logs_of_selected(&mut self) -> Vec<Effect> {
        let Some(server) = self.selected_server().map(|one| one.it.key.to_string()) else {
            return self.show(Screen::Logs);
        };
        let effects = self.show(Screen::Logs);
        let list = self.list_mut();
        (list.filter, list.follows) = (server, true);
        effects
    }

    /// Takes a key while a filter is typed. What is typed holds at once, but for frames, whose filter must be whole.
    pub(super) fn prompt_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(line) = &mut self.prompt else { return Vec::new() };
        let mut is_over = false;
        match key.code {
            KeyCode::Enter => is_over = true,
            KeyCode::Esc => {
                line.clear();
                is_over = true;
            }
            _ => typed(line, key),
        }
        let filter = line.text.clone();
        if is_over {
            self.prompt = None;
        }
        if self.screen == Screen::Traffic {
            if is_over && filter != self.list().filter {
                self.list_mut().filter = filter;
                return self.open_traffic();
            }
        } else {
            self.list_mut().filter = filter;
        }
        Vec::new()
    }
}

/// Changes a line by a key.
pub(super) fn typed(line: &mut Line, key: KeyEvent) {
    use crossterm::event::KeyModifiers;
    let is_held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => line.clear(),
        KeyCode::Char('a') if key.modifiers.contains(KeyModifiers::CONTROL) => line.at = 0,
        KeyCode::Char(c) if !is_held => line.insert(c),
        KeyCode::Backspace => line.backspace(),
        KeyCode::Delete => line.delete(),
        KeyCode::Left => line.left(),
        KeyCode::Right => line.right(),
        KeyCode::Home => line.at = 0,
        KeyCode::End => line.at = line.text.len(),
        _ => {}
    }
}
