//! The terminal face: a client of the control API that draws what it is told and asks for what keys mean. Everything that
//! is seen is a pure function of [`state::State`]; what is typed and what the gateway says changes that state alone, and
//! what is to be done comes back as [`effect::Effect`]s for the loop to carry out.

mod clipboard;
mod connection;
mod editor;
mod effect;
mod form;
mod input;
mod look;
mod model;
mod pace;
mod run;
mod state;
mod terminal;
mod textview;
mod update;
mod view;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use manifold_admin::AskerEnvironment;
use manifold_admin_client::Client;

pub use editor::edit;
pub use input::{ACTIONS, ActionRow, KeyError};
pub use look::Look;
pub use run::{End, Signals, run};

/// The gateway that is looked at.
pub trait Gateway: Send + Sync {
    /// Opens a connection for one request.
    fn client(&self, patience: Duration) -> io::Result<Client>;
    /// Returns the variables and the folder that servers are called with, where that is for the asker to say.
    fn asks_with(&self) -> Option<AskerEnvironment>;
}

/// How it is to be shown.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Nothing may be changed, and no server asked.
    pub read_only: bool,
    pub look: Look,
    /// Keys for actions, instead of those they have: `tui.keys` of the config.
    pub keys: BTreeMap<String, String>,
    /// The program that edits text, with its arguments.
    pub editor: Vec<String>,
    /// The variables of the programs that are run.
    pub environment: Vec<(String, String)>,
    /// The namespace whose tools are shown and called.
    pub namespace: Option<String>,
    /// What to say first.
    pub remark: Option<String>,
}
