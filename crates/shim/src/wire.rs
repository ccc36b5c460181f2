//! The loop around the relay: waits for the client and the daemon at once, and for nothing else.

mod absence;

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use manifold_rendezvous::hello::Resume;
use manifold_rendezvous::{Stages, frame, wait_ready};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::attach::{Attached, Attaching};
use crate::decoder::{Decoder, Language};
use crate::gathering::{Before, Gathering, MOMENT};
use crate::relay::{Link, Relay, Taken};
use crate::silence::{Bounds, Silence};
use crate::streams::{self, Reading, Scratch};

/// How long a client that left may take to read what it is owed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Serves the client on our standard streams by the daemon that we are attached to, and by those after it, until the client
/// has left and was answered, or reads no more.
pub fn serve(
    attaching: &Attaching<'_>,
    attached: Attached,
    (stages, page): (Stages, OwnedFd),
    language: Language,
    bounds: Bounds,
    slim_down: fn(),
) -> io::Result<()> {
    let (input, output) = streams::standard()?;
    let Attached { socket, welcome } = attached;
    let wire = Wire {
        attaching,
        page: Rc::new(page),
        input,
        output,
        socket: Some(socket),
        resume: Resume { session: welcome.session, epoch: welcome.epoch, questions: 0 },
        decoder: Decoder::new(language, welcome.limit_bytes),
        relay: Relay::new(stages, language),
        from_daemon: BytesMut::new(),
        scratch: Scratch::new(),
        gathering: Gathering::default(),
        brought: 0,
        idle_trims: IdleTrims { done: 0 },
        slim_down,
        silence: Silence::new(bounds.silence),
        bounds,
        complaint: None,
        input_ended: false,
        said_all: false,
        has_lost: false,
        was_frozen: false,
    };
    wire.run()
}

struct Wire<'a> {
    attaching: &'a Attaching<'a>,
    page: Rc<OwnedFd>,
    input: File,
    output: File,
    socket: Option<UnixStream>,
    resume: Resume,
    decoder: Decoder,
    relay: Relay,
    from_daemon: BytesMut,
    scratch: Scratch,
    gathering: Gathering,
    /// How many messages the last look has brought.
    brought: usize,
    idle_trims: IdleTrims,
    slim_down: fn(),
    bounds: Bounds,
    silence: Silence,
    /// Why no daemon could be had the last time.
    complaint: Option<String>,
    input_ended: bool,
    /// The daemon knows that the client will say nothing more.
    said_all: bool,
    /// A daemon has just been lost, or could not be had.
    has_lost: bool,
    /// The last daemon was frozen, which has been said.
    was_frozen: bool,
}

/// When it is quiet for the first times, what only the start and the first calls needed is given back.
struct IdleTrims {
    done: usize,
}

impl IdleTrims {
    const AFTER_MS: [u16; 3] = [50, 500, 5000];

    fn timeout(&self) -> Option<Duration> {
        Self::AFTER_MS.get(self.done).map(|after| Duration::from_millis((*after).into()))
    }

    fn trim(&mut self, slim_down: fn()) {
        self.done += 1;
        slim_down();
    }
}

/// What can be gone on with.
#[derive(Default)]
struct Ready {
    input: bool,
    socket: bool,
    /// The daemon may have shown that it lives.
    knock: bool,
    /// The client has closed its end: whatever is said to it is lost.
    output_gone: bool,
}

impl Wire<'_> {
    fn run(mut self) -> io::Result<()> {
        loop {
            let until = self.judge_silence();
            // What follows from the loss of a daemon is done before anything is waited for.
            let ready = if std::mem::take(&mut self.has_lost) { Ready::default() } else { self.wait(until)? };
            if ready.output_gone {
                return Ok(());
            }
            if ready.input {
                self.read_client();
            }
            if ready.knock {
                self.silence.answered();
            }
            if ready.socket {
                self.read_daemon();
            }
            if self.relay.is_over() || self.is_done() {
                self.last_words();
                return Ok(());
            }
            if self.relay.wants_daemon() {
                self.attach_again();
            }
            if let Some(socket) = &mut self.socket
                && streams::write(socket, self.relay.daemon_queue()).is_err()
            {
                self.hear_last_words();
            }
            if self.input_ended && !self.said_all && self.relay.daemon_queue().is_empty() {
                self.say_all();
            }
            if streams::write(&mut self.output, self.relay.client_queue()).is_err() {
                return Ok(());
            }
        }
    }

    /// Waits until something can be read or written, or until then.
    fn wait(&mut self, until: Option<Instant>) -> io::Result<Ready> {
        // Client and daemon get to say more first: it is read and passed on in one go.
        match self.gathering.before_next(std::mem::take(&mut self.brought), self.relay.in_flight()) {
            Before::Nothing => {}
            Before::Yield => std::thread::yield_now(),
            Before::Wait => std::thread::sleep(MOMENT),
        }
        let mut socket_events = PollFlags::empty();
        socket_events.set(PollFlags::POLLIN, self.relay.client_keeps_up());
        socket_events.set(PollFlags::POLLOUT, !self.relay.daemon_queue().is_empty());
        let mut output_events = PollFlags::empty();
        output_events.set(PollFlags::POLLOUT, !self.relay.client_queue().is_empty());
        // A client that closes its end is heard of even while nothing is owed to it.
        let mut waiting = [
            PollFd::new(self.output.as_fd(), output_events),
            PollFd::new(self.output.as_fd(), PollFlags::empty()),
            PollFd::new(self.output.as_fd(), PollFlags::empty()),
            PollFd::new(self.output.as_fd(), PollFlags::empty()),
        ];
        let mut count = 1;
        let input = (!self.input_ended && self.relay.has_room()).then(|| {
            waiting[count] = PollFd::new(self.input.as_fd(), PollFlags::POLLIN);
            count += 1;
            count - 1
        });
        let socket = self.socket.as_ref().filter(|_| !socket_events.is_empty()).map(|socket| {
            waiting[count] = PollFd::new(socket.as_fd(), socket_events);
            count += 1;
            count - 1
        });
        let knock = self.silence.knocked().map(|knock| {
            waiting[count] = PollFd::new(knock, PollFlags::POLLIN);
            count += 1;
            count - 1
        });
        let waiting = waiting.get_mut(..count).unwrap_or_default();
        let trim = self.idle_trims.timeout();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let is_trim_first = trim.is_some_and(|trim| left.is_none_or(|left| trim <= left));
        // Never too early, or the rest of a millisecond would be spent asking.
        let timeout = trim.into_iter().chain(left).min().map_or(PollTimeout::NONE, |least| {
            PollTimeout::try_from(least.as_millis() + 1).unwrap_or(PollTimeout::MAX)
        });
        let is_idle = loop {
            match poll(waiting, timeout) {
                Ok(ready) => break ready == 0 && is_trim_first,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let happened = |at: Option<usize>| {
            let one = at.and_then(|at| waiting.get(at));
            one.is_some_and(|one| one.any().unwrap_or(true))
        };
        let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        let output = waiting.first().and_then(PollFd::revents).unwrap_or(PollFlags::empty());
        let ready = Ready {
            input: happened(input),
            socket: happened(socket) && socket_events.contains(PollFlags::POLLIN),
            knock: happened(knock),
            output_gone: output.intersects(gone),
        };
        if is_idle {
            self.idle_trims.trim(self.slim_down);
        }
        Ok(ready)
    }

    fn read_client(&mut self) {
        self.input_ended =
            matches!(self.scratch.read(&mut self.input, self.decoder.buffer()), Reading::Ended);
        loop {
            let frame = self.decoder.next(self.input_ended);
            self.relay.set_framing(self.decoder.framing());
            let Some(frame) = frame else { return };
            self.brought += 1;
            if let Taken::Unfinished(start) = self.relay.client_said(frame) {
                self.decoder.gather(start);
            }
        }
    }

    /// Takes what a daemon that reads no more has said before: answers, and that another takes its place.
    fn hear_last_words(&mut self) {
        while matches!(self.read_daemon(), Reading::Some) {}
        if self.socket.is_some() {
            self.lose_daemon();
        }
    }

    fn read_daemon(&mut self) -> Reading {
        let Some(socket) = &mut self.socket else { return Reading::Ended };
        let reading = self.scratch.read(socket, &mut self.from_daemon);
        if !matches!(reading, Reading::Nothing) {
            self.silence.broken();
        }
        loop {
            match frame::next(&mut self.from_daemon) {
                Ok(Some(frame)) => {
                    self.brought += 1;
                    if let Some(note) = self.relay.daemon_said(frame) {
                        tell(&note);
                    }
                }
                Ok(None) => break,
                Err(_) => {
                    self.lose_daemon();
                    return Reading::Ended;
                }
            }
        }
        if matches!(reading, Reading::Ended) {
            self.lose_daemon();
        }
        reading
    }

    fn lose_daemon(&mut self) {
        self.drop_socket();
        if !self.relay.is_over() {
            self.relay.lost();
        }
    }

    fn drop_socket(&mut self) {
        self.socket = None;
        self.has_lost = true;
        self.from_daemon.clear();
        self.said_all = false;
    }

    /// Tells the daemon that the client has said all; it answers what is in flight and closes.
    fn say_all(&mut self) {
        if let Some(socket) = &self.socket {
            self.said_all = socket.shutdown(std::net::Shutdown::Write).is_ok();
        }
    }

    /// Returns whether nothing is left to be done for a client that has left.
    fn is_done(&self) -> bool {
        let has_daemon = self.relay.link() != Link::Down;
        self.input_ended && !has_daemon && (self.relay.is_idle() || !self.relay.wants_daemon())
    }

    /// Lets a client that left have what it is owed.
    fn last_words(mut self) {
        let until = Instant::now() + LAST_WORDS;
        while !self.relay.client_queue().is_empty() {
            let written = wait_ready(&self.output, PollFlags::POLLOUT, until)
                .and_then(|()| streams::write(&mut self.output, self.relay.client_queue()));
            if written.is_err() {
                return;
            }
        }
    }
}

/// Says something to people. Nobody need be listening.
fn tell(line: &[u8]) {
    let mut text = line.to_vec();
    // A server's own words may be in it.
    text.iter_mut().filter(|byte| byte.is_ascii_control()).for_each(|byte| *byte = b' ');
    text.push(b'\n');
    let _ = io::stderr().write_all(&text);
}
