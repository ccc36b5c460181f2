//! A running server left to the program that takes our place, and taken up there.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use manifold_engine::Reopen;
use manifold_protocol::dialect::ServerFacts;
use manifold_protocol::framing::Unfinished;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use super::release::Released;
use super::{Launch, Left, Process, Streams};
use crate::handover::{Data, SavedProcess, fail_calls};
use crate::process::{ProcessControl, ProcessHost, ServerInput, ServerOutput, StopGrace, drain};
use crate::supervisor::Running;

/// How long the tasks of the pipes may take to let go: they only have to be run.
const PATIENCE: Duration = Duration::from_secs(1);

/// The pipes as their tasks gave them back.
#[derive(Default)]
struct Pipes {
    stdin: Option<(ServerInput, Vec<u8>)>,
    stdout: Option<(ServerOutput, Unfinished)>,
    stderr: Option<(ServerOutput, Unfinished)>,
}

impl Process {
    /// Lets go of the server without its end. Where that cannot be, because it has ended or is about to, its calls fail and it
    /// ends.
    pub(super) async fn let_go(mut self, said: &ServerFacts) -> Option<SavedProcess> {
        self.release.tell();
        let mut pipes = Pipes::default();
        let deadline = Instant::now() + PATIENCE;
        pipes.take(&mut self.readers, deadline).await;
        pipes.take(&mut self.writer, deadline).await;
        let (Some((stdin, mut unwritten)), Some((stdout, unread)), None) =
            (pipes.stdin, pipes.stdout, self.control.exit().try_get())
        else {
            let unsent = self.connection.close("it ended while the gateway was upgraded");
            unsent.into_iter().for_each(|(_, exchange)| exchange.leave_to_another_process());
            return None;
        };
        let (connection, queued) = self.connection.suspend(said);
        for message in queued {
            message.pieces().for_each(|piece| unwritten.extend_from_slice(piece));
            unwritten.extend_from_slice(self.end_of_message.as_bytes());
        }
        let (stderr, unread_log) = pipes.stderr.unzip();
        Some(SavedProcess {
            pid: self.pid,
            keeper: self.control.suspend()?,
            stdin: stdin.suspend().ok()?,
            stdout: stdout.suspend().ok()?,
            stderr: stderr.and_then(|stderr| stderr.suspend().ok()),
            unread: unread.into(),
            unread_log: unread_log.unwrap_or_default().into(),
            unwritten: Data(unwritten.into()),
            running_ms: 0,
            connection,
            listing: None,
            freshness: Vec::new(),
            log: Vec::new(),
            log_times_ms: Vec::new(),
        })
    }
}

impl Pipes {
    async fn take(&mut self, tasks: &mut JoinSet<Released>, deadline: Instant) {
        while let Ok(Some(released)) = timeout_at(deadline, tasks.join_next()).await {
            match released {
                Ok(Released::Input { stdin, unwritten }) => self.stdin = Some((stdin, unwritten)),
                Ok(Released::Output { stdout, unread }) => self.stdout = Some((stdout, unread)),
                Ok(Released::Log { stderr, unread }) => self.stderr = Some((stderr, unread)),
                Ok(Released::Nothing) | Err(_) => {}
            }
        }
    }
}

impl Launch {
    /// Takes up a server that another program started. `None`: that could not be; its calls have failed, and it ends.
    pub(crate) fn resume(&self, saved: SavedProcess, askers: &dyn Reopen) -> Option<Running<Process>> {
        let SavedProcess { pid, stdin, stdout, stderr, keeper, connection: calls, .. } = saved;
        let opened = (|| {
            Ok::<_, io::Error>(Streams {
                pid,
                control: self.processes.take_over(keeper)?,
                stdin: ServerInput::take_over(stdin)?,
                stdout: ServerOutput::take_over(stdout)?,
                stderr: stderr.map(ServerOutput::take_over).transpose()?,
            })
        })();
        let streams = match opened {
            Ok(streams) => streams,
            Err(error) => {
                warn!(server = %self.server.key.id, %error, "it cannot be taken over and is restarted");
                fail_calls(&self.server.key.id, calls.calls, askers, LOST);
                return None;
            }
        };
        // Nobody reads from the server before its calls are there again.
        let connection = self.connection();
        let Some(said) = connection.resume(calls, askers) else {
            warn!(server = %self.server.key.id, "it speaks in a way that is not known here and is restarted");
            self.shutdowns.see_off(end(streams));
            return None;
        };
        let left = Left {
            unread: saved.unread.into(),
            unread_log: saved.unread_log.into(),
            unwritten: saved.unwritten.0,
        };
        self.logs.recall(&saved.log, &saved.log_times_ms);
        let (life, _) = self.serve(Arc::clone(&connection), streams, Some(left));
        Some(Running { connection, said, pid: Some(pid), life })
    }

    /// Ends a server that another program started and that is another by now. Whatever is started next waits for that.
    pub(crate) fn replace(&self, saved: SavedProcess, askers: &dyn Reopen) {
        let why = "its definition changed while the gateway was upgraded, so it was restarted";
        let ending = stop(&self.processes, &self.server.key.id, saved, askers, why);
        self.shutdowns.see_off(ending);
    }
}

const LOST: &str = "it was lost while the gateway was upgraded";

/// Fails the calls of a server that another program started, and ends it in good order.
pub(crate) fn stop(
    processes: &ProcessHost,
    server: &str,
    saved: SavedProcess,
    askers: &dyn Reopen,
    why: &str,
) -> impl Future<Output = ()> + Send + 'static + use<> {
    fail_calls(server, saved.connection.calls, askers, why);
    let control = processes.take_over(saved.keeper);
    let outputs = [Some(saved.stdout), saved.stderr].map(|output| ServerOutput::take_over(output?).ok());
    // Its input ends here, which is its first word to go.
    drop(saved.stdin);
    async move {
        if let Ok(control) = control {
            go(control, outputs).await;
        }
    }
}

async fn end(streams: Streams) {
    drop(streams.stdin);
    go(streams.control, [Some(streams.stdout), streams.stderr]).await;
}

async fn go(control: ProcessControl, outputs: [Option<ServerOutput>; 2]) {
    tokio::select! {
        _ = control.stop(StopGrace::default()) => {}
        never = drain(outputs) => match never {},
    }
}
