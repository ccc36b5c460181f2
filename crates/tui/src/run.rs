//! The loop: what is typed and what is heard changes the state, and the picture follows, thirty times a second at the most.
#![allow(clippy::disallowed_types, reason = "no runtime runs here")]

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyEventKind};
use nix::sys::signal::{SigSet, Signal};

use crate::connection::Connection;
use crate::effect::{Effect, News};
use crate::input::Keys;
use crate::pace::Pace;
use crate::state::State;
use crate::terminal::Screen;
use crate::{Gateway, Options, clipboard, editor};

/// What waits to be taken in: who says more waits, and the gateway tells the last of each thing.
const QUEUE: usize = 1024;

/// So much is taken in before a picture is drawn.
const BATCH: usize = 512;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Quit,
    /// The number of the signal.
    Signal(i32),
}

/// What comes in.
pub(crate) enum Message {
    Input(Event),
    /// The terminal is gone.
    NoInput,
    News(Box<News>),
    Signal(Signal),
}

/// Signals that are taken in like everything else.
pub struct Signals(SigSet);

impl Signals {
    /// Has them wait for [`run`]. To be called before there is a second thread: those that come later leave them alone.
    pub fn block() -> io::Result<Self> {
        let mut signals = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGTSTP] {
            signals.add(signal);
        }
        signals.thread_block()?;
        Ok(Self(signals))
    }
}

/// Shows the gateway until somebody quits. The terminal is as before when this returns.
pub fn run(gateway: &Arc<dyn Gateway>, options: Options, signals: Signals) -> io::Result<End> {
    let keys =
        Keys::new(&options.keys).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let (messages, incoming) = mpsc::sync_channel(QUEUE);
    let weak: Weak<dyn Gateway> = Arc::downgrade(gateway);
    let state = State::new(keys, &options, Screen::size());
    let mut screen = Screen::enter()?;
    wait_for_signals(signals, messages.clone())?;
    let (taken, next) = mpsc::sync_channel(1);
    read_input(messages.clone(), next)?;
    let connection = Connection::open(weak, messages, options.namespace.clone());
    let mut running = Running {
        state,
        connection,
        options,
        taken,
        begun: Instant::now(),
        is_dirty: true,
        is_typed: false,
        pace: Pace::default(),
    };
    running.run(&incoming, &mut screen)
}

struct Running {
    state: State,
    connection: Connection,
    options: Options,
    /// Lets the next key be read: not before what the last one started is done with the terminal.
    taken: SyncSender<()>,
    begun: Instant,
    is_dirty: bool,
    /// A key has been taken in since the last picture.
    is_typed: bool,
    pace: Pace,
}

impl Running {
    fn run(&mut self, incoming: &Receiver<Message>, screen: &mut Screen) -> io::Result<End> {
        loop {
            let next = self.pace.wait(self.is_typed, Instant::now());
            if self.is_dirty && next.is_zero() {
                screen.draw(&mut self.state)?;
                (self.is_dirty, self.is_typed) = (false, false);
                self.pace.drawn(Instant::now());
            }
            let change = self.state.next_change().map(Duration::from_millis);
            let wait = match self.is_dirty {
                true => next,
                false => change.unwrap_or(Duration::from_secs(3600)).max(Duration::from_millis(1)),
            };
            let first = match incoming.recv_timeout(wait) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(End::Quit),
            };
            self.is_dirty |= first.is_some() || change.is_some_and(|change| change <= wait);
            let effects = self.state.tick(self.now());
            if let Some(end) = self.perform(effects, screen)? {
                return Ok(end);
            }
            for message in first.into_iter().chain(incoming.try_iter().take(BATCH)) {
                if let Some(end) = self.take(message, screen)? {
                    return Ok(end);
                }
            }
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn take(&mut self, message: Message, screen: &mut Screen) -> io::Result<Option<End>> {
        match message {
            Message::Input(event) => {
                self.is_typed = true;
                #[cfg(debug_assertions)]
                self.break_if_told();
                let effects = match event {
                    Event::Key(key) if key.kind != KeyEventKind::Release => self.state.key(key),
                    Event::Paste(text) => self.state.paste(&text),
                    Event::Resize(width, height) => {
                        self.state.resize((width, height));
                        Vec::new()
                    }
                    _ => Vec::new(),
                };
                let end = self.perform(effects, screen)?;
                let _ = self.taken.try_send(());
                Ok(end)
            }
            Message::News(news) => {
                let effects = self.state.news(*news);
                self.perform(effects, screen)
            }
            Message::Signal(Signal::SIGTSTP) => {
                screen.suspend()?;
                Ok(None)
            }
            Message::Signal(signal) => Ok(Some(End::Signal(signal as i32))),
            Message::NoInput => Ok(Some(End::Signal(Signal::SIGHUP as i32))),
        }
    }

    /// Breaks where a test wants to see what becomes of the terminal. A release has nothing of it.
    #[cfg(debug_assertions)]
    fn break_if_told(&self) {
        const NAME: &str = "MANIFOLD_TEST_PANIC";
        let is_told = self.options.environment.iter().any(|(name, _)| name == NAME);
        assert!(!is_told, "{NAME} is set");
    }

    fn perform(&mut self, effects: Vec<Effect>, screen: &mut Screen) -> io::Result<Option<End>> {
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(Some(End::Quit)),
                Effect::Suspend => screen.suspend()?,
                Effect::Redraw => screen.redraw()?,
                Effect::Copy { text, what } => {
                    let what = manifold_admin::escaped_line(&what).into_owned();
                    let said = clipboard::copy(&text, &what, &self.options.environment);
                    self.state.news(News::Copied(said));
                }
                Effect::Edit { text, kind } => {
                    let options = &self.options;
                    let edited =
                        screen.lend(|| editor::edit(&text, &kind, &options.editor, &options.environment))?;
                    let effects = self.state.news(News::Edited(edited));
                    if let Some(end) = self.perform(effects, screen)? {
                        return Ok(Some(end));
                    }
                }
                effect => self.connection.perform(effect),
            }
            self.is_dirty = true;
        }
        Ok(None)
    }
}

/// Reads keys one by one: each is taken in before the next is read, so that an editor has the terminal to itself.
fn read_input(messages: SyncSender<Message>, next: Receiver<()>) -> io::Result<()> {
    let read = move || {
        loop {
            let Ok(event) = event::read() else {
                let _ = messages.send(Message::NoInput);
                return;
            };
            if messages.send(Message::Input(event)).is_err() || next.recv().is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("keys".to_owned()).spawn(read).map(|_| ())
}

fn wait_for_signals(signals: Signals, messages: SyncSender<Message>) -> io::Result<()> {
    let wait = move || {
        while let Ok(signal) = signals.0.wait() {
            if messages.send(Message::Signal(signal)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(|_| ())
}
