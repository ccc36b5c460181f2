//! Which rows each screen has, and what is selected on it.

use manifold_admin::{Client, Frame, Namespace, Server};

use super::list::Row;
use super::{Screen, State};
use crate::model::logs::Line;
use crate::model::problems::{Wrong, key_of};
use crate::model::tools::Tool;
use crate::model::{Heard, Model};

impl State {
    /// Returns the rows of the screen that is shown, as far as they fit its filter.
    pub(super) fn rows(&self) -> Vec<Row> {
        let filter = self.list().filter.to_lowercase();
        let has = |text: &str| filter.is_empty() || text.to_lowercase().contains(&filter);
        let model = &self.model;
        match self.screen {
            Screen::Servers => collected(&model.servers, |one| {
                let name = one.it.key.to_string();
                let text = format!("{name} {} {}", one.it.state.as_str(), one.it.kind.as_str());
                has(&text).then(|| key_of(&[&name]))
            }),
            Screen::Tools => collected(&model.tools.items, |tool| {
                (filter.is_empty() || tool.has(&filter)).then(|| key_of(&[&tool.listed.name]))
            }),
            // The gateway filters these.
            Screen::Traffic => collected(&model.traffic.frames, |frame| Some(frame.n)),
            Screen::Clients => collected(&model.clients, |one| {
                let client = &one.it;
                let text = format!(
                    "{} {} {}",
                    client.name.as_deref().unwrap_or_default(),
                    client.namespace.as_deref().unwrap_or_default(),
                    client.cwd.as_deref().unwrap_or_default()
                );
                has(&text).then_some(client.id)
            }),
            Screen::Namespaces => collected(&model.namespaces, |one| {
                let text = format!("{} {}", one.id.as_deref().unwrap_or_default(), one.name);
                has(&text).then(|| key_of(&[one.id.as_deref().unwrap_or_default()]))
            }),
            Screen::Logs => collected(&model.logs.lines, |line| {
                (has(&line.server) || has(&line.text)).then_some(line.number)
            }),
            Screen::Problems => collected(&model.problems(self.now), |wrong| {
                (has(&wrong.whose) || has(&wrong.what)).then_some(wrong.key)
            }),
        }
    }

    fn index(&self, screen: Screen) -> Option<usize> {
        (self.screen == screen).then(|| self.list().row().map(|row| row.index))?
    }

    pub(crate) fn selected_tool(&self) -> Option<&Tool> {
        self.model.tools.items.get(self.index(Screen::Tools)?)
    }

    pub(crate) fn selected_frame(&self) -> Option<&Frame> {
        self.model.traffic.frames.get(self.index(Screen::Traffic)?)
    }

    pub(crate) fn selected_client(&self) -> Option<&Heard<Client>> {
        self.model.clients.get(self.index(Screen::Clients)?)
    }

    pub(crate) fn selected_namespace(&self) -> Option<&Namespace> {
        self.model.namespaces.get(self.index(Screen::Namespaces)?)
    }

    pub(crate) fn selected_line(&self) -> Option<&Line> {
        self.model.logs.lines.get(self.index(Screen::Logs)?)
    }

    pub(crate) fn selected_problem(&self) -> Option<Wrong> {
        self.model.problems(self.now).into_iter().nth(self.index(Screen::Problems)?)
    }

    /// Returns the server that is selected, or that what is selected belongs to.
    pub(crate) fn selected_server(&self) -> Option<&Heard<Server>> {
        let model: &Model = &self.model;
        match self.screen {
            Screen::Servers => model.servers.get(self.index(Screen::Servers)?),
            Screen::Tools => model.server(&self.selected_tool()?.listed.server),
            Screen::Traffic => model.server(self.selected_frame()?.server.as_deref()?),
            Screen::Logs => model.server(&self.selected_line()?.server),
            Screen::Problems => model.server(&self.selected_problem()?.whose),
            Screen::Clients | Screen::Namespaces => None,
        }
    }
}

/// Returns a row for each thing that has a key.
fn collected<'m, T: 'm>(
    things: impl IntoIterator<Item = &'m T>,
    key: impl Fn(&T) -> Option<u64>,
) -> Vec<Row> {
    let rows = things.into_iter().enumerate();
    rows.filter_map(|(index, one)| Some(Row { index, key: key(one)? })).collect()
}
