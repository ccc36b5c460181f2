//! Keys while something stands before everything else.

use crossterm::event::{KeyCode, KeyEvent};
use serde_json::value::RawValue;

use super::actions::typed;
use super::orders::answered;
use crate::effect::Effect;
use crate::form::Kind;
use crate::input::{ACTIONS, Action, Place};
use crate::state::{Modal, Purpose, State, Waiting};
use crate::view::modal_size;

impl State {
    pub(super) fn modal_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        match self.modals.last_mut() {
            Some(Modal::Palette(_)) => self.palette_key(key),
            Some(Modal::Confirm(_)) => self.confirm_key(key),
            Some(Modal::Form(_)) => self.form_key(key),
            Some(Modal::Text(_)) => self.text_key(key),
            Some(Modal::Keys { .. }) => {
                self.keys_key(key);
                Vec::new()
            }
            Some(Modal::Waiting(waiting)) => {
                let number = waiting.number;
                if key.code != KeyCode::Esc {
                    return Vec::new();
                }
                self.modals.pop();
                self.say("cancelled");
                vec![Effect::HangUp { number }]
            }
            None => Vec::new(),
        }
    }

    fn palette_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Modal::Palette(palette)) = self.modals.last_mut() else { return Vec::new() };
        let last = palette.matches.len().saturating_sub(1);
        match key.code {
            KeyCode::Esc => {
                self.modals.pop();
            }
            KeyCode::Enter => {
                let act = palette.chosen().map(|entry| entry.act.clone());
                self.modals.pop();
                return act.map(|act| self.command(act)).unwrap_or_default();
            }
            KeyCode::Down | KeyCode::Tab => palette.at = (palette.at + 1).min(last),
            KeyCode::Up | KeyCode::BackTab => palette.at = palette.at.saturating_sub(1),
            KeyCode::PageDown => palette.at = (palette.at + 10).min(last),
            KeyCode::PageUp => palette.at = palette.at.saturating_sub(10),
            _ => {
                let before = palette.line.text.clone();
                typed(&mut palette.line, key);
                if palette.line.text != before {
                    palette.search();
                }
            }
        }
        Vec::new()
    }

    fn confirm_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let action = self.keys.action(key, &[Place::Looking]);
        let Some(Modal::Confirm(confirm)) = self.modals.last_mut() else { return Vec::new() };
        let said = match key.code {
            KeyCode::Char('y' | 'Y') => Some(true),
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => Some(false),
            KeyCode::Enter => Some(confirm.is_yes),
            KeyCode::Left | KeyCode::Right | KeyCode::Tab | KeyCode::BackTab => {
                confirm.is_yes = !confirm.is_yes;
                None
            }
            _ => {
                if matches!(action, Some(Action::Down | Action::Up)) {
                    confirm.is_yes = !confirm.is_yes;
                }
                None
            }
        };
        let Some(is_yes) = said else { return Vec::new() };
        let Some(Modal::Confirm(confirm)) = self.modals.pop() else { return Vec::new() };
        let declined = confirm.effects.iter().find_map(|effect| match effect {
            Effect::Answer { id, .. } => Some(id.clone()),
            _ => None,
        });
        match (is_yes, declined) {
            (true, _) => {
                // Something that a server is asked is waited for.
                if let Some(Effect::Ask { number, .. }) = confirm.effects.first() {
                    let what = confirm.title.trim_end_matches('?').to_owned();
                    let waiting = Waiting { number: *number, what, since: self.now, progress: None };
                    self.modals.push(Modal::Waiting(waiting));
                } else {
                    self.say(format!("{} …", confirm.title.trim_end_matches('?')));
                }
                confirm.effects
            }
            (false, Some(id)) => vec![decline(id)],
            (false, None) => Vec::new(),
        }
    }

    fn form_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let action = self.keys.action(key, &[Place::Form]);
        let Some(Modal::Form(modal)) = self.modals.last_mut() else { return Vec::new() };
        let form = &mut modal.form;
        match action {
            Some(Action::Back) => {
                let purpose = modal.purpose.clone();
                self.modals.pop();
                if let Purpose::Question { id } = purpose {
                    return vec![decline(id)];
                }
            }
            Some(Action::Next) if form.is_at_end() && key.code == KeyCode::Enter => return self.send_form(),
            Some(Action::Send) => return self.send_form(),
            Some(Action::Next) => form.next(),
            Some(Action::Previous) => form.previous(),
            Some(Action::EditJson) => {
                return vec![Effect::Edit { text: form.as_json(), kind: "json".to_owned() }];
            }
            Some(Action::Toggle) => {
                if let Some(field) = form.field() {
                    field.is_empty_meant = !field.is_empty_meant && matches!(field.kind, Kind::Text { .. });
                    field.line.clear();
                }
            }
            _ => {
                if let Some(field) = form.field() {
                    match key.code {
                        KeyCode::Char(' ') | KeyCode::Right if field.is_chosen() => field.cycle(true),
                        KeyCode::Left if field.is_chosen() => field.cycle(false),
                        KeyCode::Backspace if field.is_chosen() => field.line.clear(),
                        _ if field.is_chosen() => {}
                        _ => typed(&mut field.line, key),
                    }
                }
                form.flaw = None;
            }
        }
        Vec::new()
    }

    fn send_form(&mut self) -> Vec<Effect> {
        let Some(Modal::Form(modal)) = self.modals.last_mut() else { return Vec::new() };
        let Some(object) = modal.form.object() else { return Vec::new() };
        let purpose = modal.purpose.clone();
        self.modals.pop();
        self.send(purpose, object)
    }

    fn text_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let action = self.keys.action(key, &[Place::Looking]);
        let (width, height) = modal_size(self.size);
        let Some(Modal::Text(text)) = self.modals.last_mut() else { return Vec::new() };
        let (view, page) = (&mut text.view, (height / 2).max(1));
        match action {
            Some(Action::Down) => view.down(1, width, height),
            Some(Action::Up) => view.up(1, width),
            Some(Action::PageDown) => view.down(page, width, height),
            Some(Action::PageUp) => view.up(page, width),
            Some(Action::First) => view.top(),
            Some(Action::Last) => view.end(width, height),
            Some(Action::CopyCell | Action::CopyAll) => {
                let (text, what) = (text.whole.clone(), text.title.clone());
                return vec![Effect::Copy { text, what }];
            }
            Some(Action::Back | Action::Quit | Action::Open) => {
                self.modals.pop();
            }
            _ => {}
        }
        Vec::new()
    }

    fn keys_key(&mut self, key: KeyEvent) {
        let Some(Modal::Keys { line, top }) = self.modals.last_mut() else { return };
        match key.code {
            KeyCode::Esc | KeyCode::Enter => {
                self.modals.pop();
            }
            KeyCode::Down => *top = (*top + 1).min(ACTIONS.len()),
            KeyCode::Up => *top = top.saturating_sub(1),
            KeyCode::PageDown => *top = (*top + 10).min(ACTIONS.len()),
            KeyCode::PageUp => *top = top.saturating_sub(10),
            _ => {
                typed(line, key);
                *top = 0;
            }
        }
    }
}

pub(super) fn decline(id: String) -> Effect {
    let result = RawValue::from_string("{\"action\":\"decline\"}".to_owned()).ok();
    Effect::Answer { id, answer: result.map(answered) }
}
