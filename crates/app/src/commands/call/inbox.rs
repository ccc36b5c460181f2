//! What happens while a call is under way, from wherever it comes: the gateway's events, and the user's Ctrl-C. One
//! thread waits for all of it, also while it waits for somebody to type.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use manifold_admin::AskEvent;
use nix::sys::signal::{SigSet, Signal};

use super::gateway::Asked;
use crate::output::{Exit, Failure};

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum News {
    Event(AskEvent),
    Failed(Failure),
    /// The gateway hung up.
    Ended,
    Interrupted,
}

/// Where it all arrives.
pub(crate) struct Inbox {
    receiver: Receiver<News>,
    /// Arrived, and not dealt with yet.
    waiting: VecDeque<News>,
    /// Has a byte in it when something has arrived.
    bell: UnixStream,
}

/// What puts news in.
#[derive(Debug)]
pub(crate) struct Letterbox {
    sender: Sender<News>,
    bell: UnixStream,
}

/// The signals that end a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupts {
    /// Who is told; nobody: the command simply ends.
    told: Arc<Mutex<Option<Letterbox>>>,
}

impl Inbox {
    pub(crate) fn new() -> io::Result<(Self, Letterbox)> {
        let (sender, receiver) = mpsc::channel();
        let (bell, button) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        button.set_nonblocking(true)?;
        Ok((Self { receiver, waiting: VecDeque::new(), bell }, Letterbox { sender, bell: button }))
    }

    /// Waits for the next.
    pub(crate) fn next(&mut self) -> News {
        let next = self.waiting.pop_front();
        next.unwrap_or_else(|| self.receiver.recv().unwrap_or(News::Ended))
    }

    /// Returns whether something has arrived that makes an answer to this question pointless.
    pub(crate) fn ends(&mut self, question: &str) -> bool {
        // Emptied before looking: who rings later is heard later.
        let mut rung = [0; 64];
        while (&self.bell).read(&mut rung).is_ok_and(|count| count == rung.len()) {}
        self.waiting.extend(self.receiver.try_iter());
        self.waiting.iter().any(|news| match news {
            News::Event(AskEvent::Progress { .. } | AskEvent::Question { .. }) => false,
            News::Event(AskEvent::Withdrawn { id }) => id == question,
            _ => true,
        })
    }

    /// Returns what becomes readable when something arrives.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Letterbox {
    pub(crate) fn put(&self, news: News) {
        if self.sender.send(news).is_ok() {
            // A full one rings already.
            let _ = (&self.bell).write(&[1]);
        }
    }

    pub(crate) fn another(&self) -> io::Result<Self> {
        Ok(Self { sender: self.sender.clone(), bell: self.bell.try_clone()? })
    }
}

/// Has everything that is told of a call put into the box, from a thread of its own.
pub(crate) fn forward(asked: Asked, letterbox: Letterbox) -> io::Result<Box<dyn Fn() + Send>> {
    let Asked { events, hang_up } = asked;
    let forward = move || {
        for event in events {
            let is_last = matches!(event, Err(_) | Ok(AskEvent::Result { .. } | AskEvent::Error { .. }));
            letterbox.put(event.map_or_else(News::Failed, News::Event));
            if is_last {
                return;
            }
        }
        letterbox.put(News::Ended);
    };
    thread::Builder::new().name("events".to_owned()).spawn(forward)?;
    Ok(hang_up)
}

impl Interrupts {
    /// Catches the signals from now on, for every thread that is started after this.
    pub(crate) fn catch() -> io::Result<Self> {
        let mut signals = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            signals.add(signal);
        }
        signals.thread_block()?;
        let interrupts = Self::default();
        let waiting = interrupts.clone();
        let wait = move || {
            while signals.wait().is_ok() {
                // Nothing is under way, or it was told already and does not end.
                if !waiting.interrupt() {
                    process::exit(Exit::Interrupted as i32);
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
        Ok(interrupts)
    }

    /// Tells whoever is to be told, and returns whether somebody was.
    pub(super) fn interrupt(&self) -> bool {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).take();
        told.is_some_and(|letterbox| {
            letterbox.put(News::Interrupted);
            true
        })
    }

    /// Tells this one of the next signal.
    pub(crate) fn tell(&self, letterbox: Letterbox) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(letterbox);
    }

    /// Tells nobody any more.
    pub(crate) fn forget(&self) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
