//! Colours and signs. Every view draws as if the terminal could show anything; what it cannot is taken out of the finished
//! picture, in one place.

use manifold_admin::{State, is_unsafe};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

/// What the terminal can show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    pub without_color: bool,
    pub ascii: bool,
}

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const FAINT: Style = Style::new().fg(Color::DarkGray);
pub(crate) const GOOD: Style = Style::new().fg(Color::Green);
pub(crate) const BUSY: Style = Style::new().fg(Color::Yellow);
pub(crate) const BAD: Style = Style::new().fg(Color::Red);
pub(crate) const ACCENT: Style = Style::new().fg(Color::Cyan);
pub(crate) const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);
pub(crate) const KEY: Style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);

/// Returns the sign, the word and the colour of a state: never the colour alone.
pub(crate) fn state(state: State, is_unresponsive: bool) -> (char, &'static str, Style) {
    match state {
        State::Ready if is_unresponsive => ('◌', "silent", BUSY),
        State::Ready => ('●', "ready", GOOD),
        State::Starting => ('◐', "starting", BUSY),
        State::Failed => ('✗', "failed", BAD),
        State::Idle => ('○', "idle", FAINT),
        State::Stopped => ('■', "stopped", PLAIN),
        State::Disabled => ('–', "disabled", FAINT),
        State::NeedsLogin => ('?', "sign in", BUSY),
        State::Other => ('?', "unknown", FAINT),
    }
}

impl Look {
    /// Takes out of a finished picture what the terminal cannot or must not show.
    pub(crate) fn finish(self, buffer: &mut Buffer) {
        for cell in &mut buffer.content {
            if self.without_color {
                // What is faint by its colour alone is plain without it.
                cell.set_fg(Color::Reset).set_bg(Color::Reset);
            }
            let symbol = cell.symbol();
            let mut chars = symbol.chars();
            let (first, is_single) = (chars.next().unwrap_or(' '), chars.next().is_none());
            if symbol.chars().any(is_unsafe) {
                // Text is escaped long before; this is for what anybody might forget.
                cell.set_char('?');
            } else if self.ascii && !symbol.is_ascii() {
                cell.set_char(if is_single { ascii(first) } else { '?' });
            }
        }
    }
}

/// Returns the nearest sign that every terminal has.
fn ascii(sign: char) -> char {
    match sign {
        '●' => '*',
        '◐' | '◌' => '~',
        '✗' => '!',
        '○' => 'o',
        '■' | '█' | '▇' => '#',
        '▆' | '▅' => '+',
        '▄' | '▃' => '=',
        '▂' => '-',
        '▁' => '_',
        '–' | '─' | '━' | '…' => {
            if sign == '…' {
                '~'
            } else {
                '-'
            }
        }
        '│' | '┃' | '▌' => '|',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '╭' | '╮' | '╰' | '╯' => '+',
        '·' | '•' => '.',
        '→' | '▸' | '›' => '>',
        '←' => '<',
        '↑' => '^',
        '↓' => 'v',
        '✓' => 'x',
        '↻' => '@',
        '\u{a0}' => ' ',
        _ => '?',
    }
}
