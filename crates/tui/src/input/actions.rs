//! Everything a key can do. The table is what `?` shows, what docs/tui.md lists and what `tui.keys` names.

/// What a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Screen(usize),
    NextScreen,
    PreviousScreen,
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    Open,
    Back,
    Filter,
    NextMatch,
    PreviousMatch,
    Follow,
    Palette,
    Start,
    Stop,
    Restart,
    Enable,
    Refresh,
    EditConfig,
    SignIn,
    Logs,
    Call,
    Disconnect,
    Pause,
    Replay,
    Record,
    CopyCell,
    CopyAll,
    Wider,
    Full,
    Mark,
    Keys,
    Redraw,
    Suspend,
    Quit,
    // In forms.
    Next,
    Previous,
    Send,
    EditJson,
    Toggle,
}

/// Where a key has this meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Everywhere, also while text is typed.
    Anywhere,
    /// Where lists and texts are looked at.
    Looking,
    /// In a form.
    Form,
}

impl Place {
    /// Returns whether both can be asked for at once.
    pub(super) fn meets(self, other: Self) -> bool {
        self == other || self == Self::Anywhere || other == Self::Anywhere
    }
}

/// A line of the table.
#[derive(Debug)]
pub struct ActionRow {
    /// As `tui.keys` has it.
    pub name: &'static str,
    /// The keys it has by default, with blanks between them.
    pub keys: &'static str,
    pub about: &'static str,
    pub(crate) action: Action,
    pub(crate) place: Place,
}

const fn looking(name: &'static str, action: Action, keys: &'static str, about: &'static str) -> ActionRow {
    ActionRow { name, keys, about, action, place: Place::Looking }
}

const fn anywhere(name: &'static str, action: Action, keys: &'static str, about: &'static str) -> ActionRow {
    ActionRow { name, keys, about, action, place: Place::Anywhere }
}

const fn form(name: &'static str, action: Action, keys: &'static str, about: &'static str) -> ActionRow {
    ActionRow { name, keys, about, action, place: Place::Form }
}

/// All of them.
pub const ACTIONS: &[ActionRow] = &[
    looking("servers", Action::Screen(0), "1", "The servers"),
    looking("tools", Action::Screen(1), "2", "The tools, as clients see them"),
    looking("traffic", Action::Screen(2), "3", "What goes over both hops"),
    looking("clients", Action::Screen(3), "4", "Who is connected"),
    looking("namespaces", Action::Screen(4), "5", "The namespaces and their rules"),
    looking("log", Action::Screen(5), "6", "What servers write beside the protocol"),
    looking("problems", Action::Screen(6), "7", "What is wrong, and the key that mends it"),
    looking("next-screen", Action::NextScreen, "Tab", "The next screen"),
    looking("previous-screen", Action::PreviousScreen, "S-Tab", "The screen before"),
    looking("down", Action::Down, "j Down", "Down"),
    looking("up", Action::Up, "k Up", "Up"),
    looking("page-down", Action::PageDown, "ctrl-d PgDn", "Half a page down"),
    looking("page-up", Action::PageUp, "ctrl-u PgUp", "Half a page up"),
    looking("first", Action::First, "g Home", "To the first"),
    looking("last", Action::Last, "G End", "To the last"),
    looking("open", Action::Open, "Enter Right", "Open what is selected"),
    looking("back", Action::Back, "Esc Left", "Back; it never quits"),
    looking("filter", Action::Filter, "/", "Filter this list; it stays until it is emptied"),
    looking("next-match", Action::NextMatch, "n", "The next that the filter, or the mark, is on"),
    looking("previous-match", Action::PreviousMatch, "N", "The one before"),
    looking("follow", Action::Follow, "f", "Follow what is new, or stay"),
    looking("palette", Action::Palette, ":", "Every command, by any part of its name"),
    looking("start", Action::Start, "s", "Start the server"),
    looking("stop", Action::Stop, "x", "Stop the server"),
    looking("restart", Action::Restart, "r", "Start the server anew"),
    looking("enable", Action::Enable, "e", "Let the server be used, or not, in the config"),
    looking("refresh", Action::Refresh, "u", "Read the lists anew"),
    looking("edit-config", Action::EditConfig, "E", "Edit the config in $EDITOR"),
    looking("sign-in", Action::SignIn, "i", "Sign in to the server; the link is shown"),
    looking("logs", Action::Logs, "l", "What this server writes"),
    looking("call", Action::Call, "c", "Call the tool, by a form made from its schema"),
    looking("disconnect", Action::Disconnect, "D", "End the client's session"),
    looking("pause", Action::Pause, "p", "Let the view stand still, or go on"),
    looking("replay", Action::Replay, "R", "Make the marked call again"),
    looking("record", Action::Record, "w", "Record the traffic, or end it"),
    looking("copy", Action::CopyCell, "y", "Copy the name of what is selected"),
    looking("copy-all", Action::CopyAll, "Y", "Copy all of it, as JSON"),
    looking("wider", Action::Wider, "+", "A wider detail"),
    looking("full", Action::Full, "_", "The detail alone, or as before"),
    looking("mark", Action::Mark, "m", "Mark it, or not"),
    looking("keys", Action::Keys, "?", "These keys"),
    looking("quit", Action::Quit, "q", "Quit; the daemon stays"),
    anywhere("end", Action::Quit, "ctrl-c", "Quit, also while text is typed"),
    anywhere("redraw", Action::Redraw, "ctrl-l", "Draw everything anew"),
    anywhere("suspend", Action::Suspend, "ctrl-z", "Back to the shell until `fg`"),
    form("next-field", Action::Next, "Tab Down Enter", "The next field; on the last line it sends"),
    form("previous-field", Action::Previous, "S-Tab Up", "The field before"),
    form("send", Action::Send, "ctrl-s", "Send the form"),
    form("edit-json", Action::EditJson, "ctrl-e", "Edit the form as JSON in $EDITOR"),
    form("toggle", Action::Toggle, "ctrl-t", "Send an empty text, or nothing"),
    form("leave", Action::Back, "Esc", "Leave the form"),
];
