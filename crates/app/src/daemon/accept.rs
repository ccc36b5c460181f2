//! Clients as they come: who they are, what they are served, until they leave.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use manifold_config::{ClientEnvironment, Selection, VariablesUsed, project_root, select_namespace};
use manifold_engine::{Audience, ClientProcess, Opening, Requester};
use manifold_frontends::Destination;
use manifold_frontends::litemcp::Service;
use manifold_frontends::shim::{Continuation, Options, ShimSession, serve_litemcp};
use manifold_rendezvous::hello::{self, Answer, Hello, RefusalCode, Refused, Transport, Values, Welcome};
use manifold_rendezvous::{IncomingLine, Stages, is_our_user, peer_pid, versions};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::home::{self, Listening};
use super::sessions::{Attached, Expected};
use super::{Daemon, random_name};
use crate::wiring::opening;

/// How long a shim may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long is waited where no descriptor is left for another client.
const PAUSE: Duration = Duration::from_millis(50);

/// Takes in clients for as long as there is a daemon.
pub(super) async fn accept(daemon: Arc<Daemon>, mut listening: Listening) {
    loop {
        match home::next(&mut listening).await {
            Ok(socket) if is_our_user(&socket) => {
                daemon.services.tasks.spawn(attend(Arc::clone(&daemon), socket));
            }
            Ok(socket) => {
                warn!(pid = peer_pid(&socket), "another user's connection was refused");
            }
            Err(error) => {
                warn!("no client can be taken in: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Serves one client, from its first word to its last.
async fn attend(daemon: Arc<Daemon>, mut socket: UnixStream) {
    let said = tokio::select! {
        said = timeout(PATIENCE, receive_line(&socket)) => said,
        // Who has said nothing keeps nobody.
        () = daemon.life.over() => return going(&mut socket).await,
    };
    let (line, page) = match said {
        Ok(Ok(said)) => said,
        Ok(Err(error)) => return debug!("a client went before it said who it is: {error}"),
        Err(_) => return debug!("a client did not say who it is"),
    };
    let Ok(hello) = Hello::from_line(&line) else { return };
    let Some(_presence) = daemon.life.enter() else { return going(&mut socket).await };
    match timeout(PATIENCE, meet(&daemon, &mut socket, hello, page)).await {
        Ok(Ok(Some(met))) => serve(&daemon, socket, met).await,
        Ok(Ok(None)) => {}
        Ok(Err(error)) => debug!("a client went before it was served: {error}"),
        Err(_) => debug!("a client did not say what it brings"),
    }
}

/// Tells a client that there will be another daemon, or none.
async fn going(socket: &mut UnixStream) {
    let _ = socket.write_all(&Answer::Going {}.to_line()).await;
}

/// A client that has said who it is.
struct Met<'d> {
    hello: Hello,
    /// It is expected among the clients.
    expected: Expected<'d>,
    /// The name it is taken up again by.
    session: Arc<str>,
    stages: Arc<Stages>,
    values: Values,
}

async fn meet<'d>(
    daemon: &'d Daemon,
    socket: &mut UnixStream,
    hello: Hello,
    page: Option<OwnedFd>,
) -> io::Result<Option<Met<'d>>> {
    let answer = match daemon.welcome(&hello) {
        Ok(welcome) => welcome,
        Err(refused) => {
            info!(pid = hello.pid, "a client is not served: {}", refused.message);
            socket.write_all(&Answer::Refused(refused).to_line()).await?;
            return Ok(None);
        }
    };
    let stages = page
        .ok_or(io::ErrorKind::InvalidData)
        .and_then(|page| Stages::open(&page).map_err(|error| error.kind()))?;
    let session = Arc::from(answer.session.as_str());
    let Some(expected) = daemon.sessions.expect() else {
        going(socket).await;
        return Ok(None);
    };
    socket.write_all(&Answer::Welcome(answer).to_line()).await?;
    let (line, _) = receive_line(socket).await?;
    let values = Values::from_line(&line).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(Some(Met { hello, expected, session, stages: Arc::new(stages), values }))
}

impl Daemon {
    /// Returns the name of a session: the one it had, where it goes on.
    fn name_of(&self, hello: &Hello) -> String {
        match &hello.resume {
            Some(resume) if self.goes_on(hello) => resume.session.clone(),
            _ => random_name(),
        }
    }

    /// Returns whether a client was served by one of the programs whose places were taken.
    fn goes_on(&self, hello: &Hello) -> bool {
        hello.resume.as_ref().is_some_and(|resume| self.epochs_before.contains(&resume.epoch))
    }

    /// Judges what a shim says of itself.
    fn welcome(&self, hello: &Hello) -> Result<Welcome, Refused> {
        let refuse = |code, message: &str| Err(Refused { code, message: message.to_owned() });
        if hello.identity != self.identity {
            return refuse(RefusalCode::OtherIdentity, "the daemon under this name serves another config");
        }
        if !hello::meet(versions::words(), hello.words) {
            return refuse(RefusalCode::Words, hello::TOO_FAR_APART);
        }
        if hello.sandbox.is_freer_than(&self.marks) {
            return refuse(
                RefusalCode::Sandboxed,
                "the daemon was started inside a sandbox; run `manifold daemon restart`",
            );
        }
        let config = self.services.fleet.config();
        // Where an unknown one ends the start, it does so in the shim, as it does without a daemon (decision 5).
        if let Selection::Unknown { fatal: true, .. } = select_namespace(&config, hello.namespace.as_deref())
        {
            return refuse(RefusalCode::Off, "there is no such schema");
        }
        let settings = &config.settings;
        let VariablesUsed { names, .. } = self.services.variables_used();
        Ok(Welcome {
            words: versions::words(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            epoch: self.epoch.clone(),
            session: self.name_of(hello),
            needs: names.into_iter().collect(),
            // The config may name others tomorrow, or not be readable now: an open window cannot be asked again.
            needs_everything: true,
            limit_bytes: settings.limits.request_bytes,
            kept_calls: self.goes_on(hello),
        })
    }
}

async fn serve(daemon: &Arc<Daemon>, socket: UnixStream, met: Met<'_>) {
    let Met { hello, expected, session, stages, values } = met;
    let before =
        hello.resume.as_ref().map_or_else(|| Arc::from(""), |resume| Arc::from(resume.session.as_str()));
    let services = &daemon.services;
    let config = services.fleet.config();
    let selection = match config.unread {
        Some(_) => Selection::All,
        None => select_namespace(&config, hello.namespace.as_deref()),
    };
    let cwd = PathBuf::from(&hello.cwd);
    let environment = ClientEnvironment { values: values.values, project: project_root(&cwd), cwd };
    let resolution = services.resolve(&environment);
    // One that comes back has heard it.
    let read_as = resolution.clone().filter(|_| hello.resume.is_none());
    let gateway = opening(selection, Audience::One, hello.eager)
        .map(|opening| services.open(Opening { resolution, session: Some(Arc::clone(&session)), ..opening }));
    if let Err(fault) = &gateway {
        warn!("{}", fault.message());
    }
    let settings = &config.settings;
    let options = Options {
        limit_bytes: settings.limits.request_bytes,
        budget: daemon.budget.clone(),
        drain_timeout: settings.drain_timeout,
    };
    debug!(pid = peer_pid(&socket), cwd = hello.cwd, "a client is attached");
    let shown = gateway.as_ref().ok().cloned();
    let attached = |notes| Attached { gateway: shown, environment, notes, said: BTreeMap::new() };
    if hello.transport == Transport::LiteMcp {
        let number = daemon.sessions.add(attached(None));
        drop(expected);
        let (service, left) = (Service::new(gateway, hello.tool), daemon.sessions.left());
        serve_litemcp(service, socket, stages, options, left, &services.tasks).await;
        return daemon.sessions.remove(number);
    }
    let process = ClientProcess {
        pid: peer_pid(&socket),
        cwd: Some(hello.cwd.clone()),
        shim: Some(hello.version.clone()),
    };
    let destination = Destination {
        gateway,
        codes: services.codes(),
        profile: config.profile,
        audience: Audience::One,
        requester: Requester::of_process(process),
    };
    let questions = hello.resume.as_ref().map_or(0, |resume| resume.questions);
    let continuation = Continuation { session, before, questions, kept: Arc::clone(&daemon.kept) };
    let session = ShimSession::new(destination, socket, (stages, continuation), options, &services.tasks);
    let notes = session.notes();
    let number = daemon.sessions.add(attached(Some(notes.clone())));
    drop(expected);
    if let Some(why) = &config.unread {
        notes.tell(&format!("manifold: {}", why.replace('\n', "; ")));
    }
    if let Some(why) = daemon.http.fault().filter(|_| hello.resume.is_none()) {
        notes.tell(&format!("manifold: {why}"));
    }
    if let Some(resolution) = read_as {
        daemon.sessions.tell_problems(number, resolution.config());
    }
    session.serve(daemon.sessions.left(), daemon.sessions.suspended()).await;
    daemon.sessions.remove(number);
}

/// Reads a line, and what came with it.
async fn receive_line(socket: &UnixStream) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let mut incoming = IncomingLine::default();
    loop {
        socket.readable().await?;
        match socket.try_io(Interest::READABLE, || incoming.take(socket)) {
            Ok(_) => return Ok(incoming.into_parts()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}
