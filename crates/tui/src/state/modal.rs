//! What stands before everything else until it is answered or left.

use super::palette::Palette;
use crate::effect::Effect;
use crate::form::{Form, Line};
use crate::textview::TextView;

#[derive(Debug)]
pub(crate) enum Modal {
    Palette(Palette),
    Confirm(Confirm),
    Form(Box<FormModal>),
    Text(Box<TextModal>),
    /// The keys, and what they are filtered by.
    Keys {
        line: Line,
        top: usize,
    },
    Waiting(Waiting),
}

/// Something that is not done before somebody says so.
#[derive(Debug)]
pub(crate) struct Confirm {
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
    pub(crate) is_yes: bool,
    pub(crate) effects: Vec<Effect>,
}

#[derive(Debug)]
pub(crate) struct FormModal {
    pub(crate) title: String,
    pub(crate) about: String,
    pub(crate) form: Form,
    pub(crate) purpose: Purpose,
}

/// What becomes of a form that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    Call {
        tool: String,
    },
    Read,
    Prompt,
    Record,
    /// A question of a server's. Leaving it declines.
    Question {
        id: String,
    },
}

#[derive(Debug)]
pub(crate) struct TextModal {
    pub(crate) title: String,
    pub(crate) is_bad: bool,
    pub(crate) view: TextView,
    /// All of it, to be copied.
    pub(crate) whole: String,
}

/// Something that was asked and is not answered yet.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) number: u64,
    pub(crate) what: String,
    pub(crate) since: u64,
    pub(crate) progress: Option<String>,
}

impl TextModal {
    pub(crate) fn new(title: impl Into<String>, text: &str) -> Self {
        Self { title: title.into(), is_bad: false, view: TextView::new(text), whole: text.to_owned() }
    }
}
