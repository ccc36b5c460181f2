//! A daemon that says nothing, or is gone: it is asked whether it lives, given up, and another is looked for.

use std::fs::File;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Instant;

use manifold_protocol::Raw;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Wire, tell};
use crate::attach::{Attached, NoDaemon, Patience, attach};
use crate::silence::Verdict;
use crate::streams::{self, Reading};

impl Wire<'_> {
    /// Gets another daemon, or tells all who wait for one that there is none.
    pub(super) fn attach_again(&mut self) {
        // What is known to have failed must not wait for it.
        let _ = streams::write(&mut self.output, self.relay.client_queue());
        self.resume.questions = self.relay.questions_asked();
        let (page, resume) = (Rc::clone(&self.page), self.resume.clone());
        let attaching = self.attaching;
        let until = Instant::now() + self.bounds.absence;
        let mut is_wanted = || self.hear_client_meanwhile();
        let mut patience = Patience::while_wanted(until, &mut is_wanted);
        match attach(attaching, &page, Some(resume), &mut patience) {
            Ok(Attached { socket, welcome }) => {
                self.socket = Some(socket);
                self.resume.session = welcome.session;
                self.resume.epoch = welcome.epoch;
                self.complaint = None;
                self.was_frozen = false;
                self.relay.attached(welcome.kept_calls);
            }
            Err(why) => {
                // Of one that is frozen people know.
                let is_known = self.was_frozen && matches!(why, NoDaemon::Silent);
                if !is_known && !matches!(why, NoDaemon::NotAwaited) {
                    self.complain(format!("manifold: the daemon cannot be had: {why}"));
                }
                self.relay.given_up();
                self.has_lost = true;
            }
        }
    }

    /// Takes what the client says while a daemon is looked for. Returns whether it still wants one.
    fn hear_client_meanwhile(&mut self) -> bool {
        let is_there = |file: &File, events| {
            let mut asked = [PollFd::new(file.as_fd(), events)];
            match poll(&mut asked, PollTimeout::ZERO) {
                Ok(0) | Err(_) => PollFlags::empty(),
                Ok(_) => asked.first().and_then(PollFd::revents).unwrap_or(PollFlags::empty()),
            }
        };
        let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        if is_there(&self.output, PollFlags::empty()).intersects(gone) {
            return false;
        }
        let may_read = !self.input_ended && self.relay.has_room();
        if may_read && !is_there(&self.input, PollFlags::POLLIN).is_empty() {
            self.read_client();
        }
        !(self.input_ended && self.relay.is_idle())
    }

    /// Asks a daemon that has been silent for too long whether it lives, and gives up one that does not. Returns until when
    /// nothing is to be done about it.
    pub(super) fn judge_silence(&mut self) -> Option<Instant> {
        // Where its answers wait for the client, the silence is the client's.
        let is_awaited = self.relay.awaits_answer() && self.relay.client_keeps_up();
        if !is_awaited && self.silence.is_unheard_of() {
            return None;
        }
        loop {
            let now = Instant::now();
            match self.silence.judge(is_awaited && self.socket.is_some(), now) {
                Verdict::Wait(until) => return until,
                Verdict::Ask => match (self.attaching.place)() {
                    Ok(place) => self.silence.ask(&place, now),
                    Err(_) => self.silence.broken(),
                },
                Verdict::Frozen => {
                    // We may have been held up ourselves: what has come meanwhile is looked at first.
                    self.silence.answered();
                    if !self.silence.is_unheard_of() && matches!(self.read_daemon(), Reading::Nothing) {
                        self.give_up_frozen();
                        return None;
                    }
                }
            }
        }
    }

    fn give_up_frozen(&mut self) {
        self.tell_frozen();
        self.silence.broken();
        self.drop_socket();
        self.relay.given_up_frozen();
    }

    /// Tells people what to do about a daemon that is frozen.
    fn tell_frozen(&mut self) {
        let about = (self.attaching.place)().ok().and_then(|place| std::fs::read(place.about_file()).ok());
        let pid = about.and_then(|about| Raw::parse(about).ok()?.get("pid"));
        let pid = pid.as_ref().map(|pid| String::from_utf8_lossy(pid.as_bytes()).into_owned());
        let line = match pid {
            Some(pid) => format!(
                "manifold: the daemon, process {pid}, does not answer; end it with `kill -9 {pid}` (its servers end with \
                 it), and the next request starts another"
            ),
            None => "manifold: the daemon does not answer".to_owned(),
        };
        self.complain(line);
        self.was_frozen = true;
    }

    /// Says what is wrong. Once is enough, however often it is so.
    fn complain(&mut self, why: String) {
        if self.complaint.as_ref() != Some(&why) {
            tell(why.as_bytes());
            self.complaint = Some(why);
        }
    }
}
