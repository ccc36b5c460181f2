//! What is copied: the name of a thing, or all that is known of it as JSON.

use serde_json::to_string_pretty;

use crate::effect::Effect;
use crate::state::{Screen, State};

impl State {
    pub(super) fn copy_name(&mut self) -> Vec<Effect> {
        let name = match self.screen {
            Screen::Servers => self.selected_server().map(|one| one.it.key.to_string()),
            Screen::Tools => self.selected_tool().map(|tool| tool.listed.name.clone()),
            Screen::Traffic => {
                self.selected_frame().and_then(|frame| frame.tool.clone().or(frame.method.clone()))
            }
            Screen::Clients => self.selected_client().and_then(|one| one.it.name.clone()),
            Screen::Namespaces => self.selected_namespace().map(|one| one.name.clone()),
            Screen::Logs => self.selected_line().map(|line| line.text.clone()),
            Screen::Problems => self.selected_problem().map(|wrong| wrong.what),
        };
        self.copied(name)
    }

    pub(super) fn copy_all(&mut self) -> Vec<Effect> {
        let all = match self.screen {
            Screen::Servers => self.selected_server().and_then(|one| to_string_pretty(&one.it).ok()),
            Screen::Tools => self.selected_tool().and_then(|tool| to_string_pretty(&tool.listed).ok()),
            Screen::Traffic => self.selected_frame().and_then(|frame| to_string_pretty(frame).ok()),
            Screen::Clients => self.selected_client().and_then(|one| to_string_pretty(&one.it).ok()),
            Screen::Namespaces => self.selected_namespace().and_then(|one| to_string_pretty(one).ok()),
            Screen::Logs => {
                let rows = self.list().rows.iter().filter_map(|row| self.model.logs.lines.get(row.index));
                Some(rows.map(|line| format!("{} {} {}\n", line.time, line.server, line.text)).collect())
            }
            Screen::Problems => {
                let problems = self.model.problems(self.now);
                Some(problems.iter().map(|wrong| format!("{}: {}\n", wrong.whose, wrong.what)).collect())
            }
        };
        self.copied(all)
    }

    fn copied(&mut self, text: Option<String>) -> Vec<Effect> {
        match text {
            Some(text) => {
                let what = match text.lines().count() {
                    0 | 1 => text.chars().take(40).collect(),
                    lines => format!("{lines} lines"),
                };
                vec![Effect::Copy { text, what }]
            }
            None => Vec::new(),
        }
    }
}
