//! The terminal, taken over and given back as it was.

use std::io::{self, Stdout};
use std::sync::Once;
use std::thread;

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::getpid;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use crate::state::State;
use crate::view::view;

/// The terminal while it is ours. It is given back when this is dropped, also by a panic.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub(crate) fn enter() -> io::Result<Self> {
        restore_on_panic();
        take()?;
        match Terminal::new(CrosstermBackend::new(io::stdout())) {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    pub(crate) fn size() -> (u16, u16) {
        size().unwrap_or((80, 24))
    }

    pub(crate) fn draw(&mut self, state: &mut State) -> io::Result<()> {
        // The picture comes as a whole where the terminal knows how to.
        execute!(io::stdout(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| {
            let area = frame.area();
            if (area.width, area.height) != state.size {
                state.resize((area.width, area.height));
            }
            if let Some(cursor) = view(state, frame.buffer_mut()) {
                frame.set_cursor_position(cursor);
            }
        })?;
        execute!(io::stdout(), EndSynchronizedUpdate)
    }

    /// Has the next picture drawn as a whole. The terminal is asked nothing: its answer would come among the keys.
    pub(crate) fn redraw(&mut self) -> io::Result<()> {
        execute!(io::stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }

    /// Gives the terminal back for as long as something else has it.
    pub(crate) fn lend<T>(&mut self, to: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let result = to();
        take()?;
        self.redraw()?;
        Ok(result)
    }

    /// Stops until somebody lets us go on.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        self.lend(|| _ = kill(getpid(), Signal::SIGSTOP))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    let taken = execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste);
    if taken.is_err() {
        give_back();
    }
    taken
}

/// A terminal that is gone cannot be given back, and nobody misses it.
fn give_back() {
    let _ = execute!(io::stdout(), EndSynchronizedUpdate, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// What a panic says is read on a terminal that is as it was.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let (ours, before) = (thread::current().id(), std::panic::take_hook());
        std::panic::set_hook(Box::new(move |info| {
            // Other threads end by themselves; ours goes on, and so does the picture.
            if thread::current().id() == ours {
                give_back();
                before(info);
            }
        }));
    });
}
