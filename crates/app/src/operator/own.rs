//! A gateway that a command runs for itself, behind the same API as any other. It ends with the command, and its servers
//! with it.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;

use manifold_admin::GatewayKind;
use manifold_config::{Config, LoadOptions, Nesting, load};
use manifold_frontends::admin::{self, Office};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::{ControlledGateway, Unreached};
use crate::cli::Flags;
use crate::wiring::{Services, Serving};

pub(crate) struct Own {
    /// Its other end is served; the gateway ends when it is dropped.
    connections: Option<UnboundedSender<UnixStream>>,
    thread: Option<JoinHandle<()>>,
}

impl Own {
    /// Starts one in a thread of its own. No server is started before one is asked for.
    pub(super) fn start(options: &LoadOptions, flags: &Flags) -> Result<Self, Unreached> {
        let config = load(options)?;
        if let Some(why) = Nesting::of(config.source.path.as_deref(), &options.environment).refusal() {
            return Err(Unreached::Failed(why));
        }
        let (connections, incoming) = mpsc::unbounded_channel();
        let (options, flags) = (options.clone(), flags.clone());
        let run = move || {
            if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
                runtime.block_on(serve(config, options, &flags, incoming));
            }
        };
        let thread = std::thread::Builder::new().name("gateway".to_owned()).spawn(run);
        let thread = thread.map_err(|error| Unreached::Failed(error.to_string()))?;
        Ok(Self { connections: Some(connections), thread: Some(thread) })
    }

    pub(super) fn connect(&self) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let sent = self.connections.as_ref().map(|connections| connections.send(theirs));
        match sent {
            Some(Ok(())) => Ok(ours),
            _ => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        drop(self.connections.take());
        if let Some(thread) = self.thread.take() {
            // Its servers are gone when it is.
            let _ = thread.join();
        }
    }
}

async fn serve(
    config: Config,
    options: LoadOptions,
    flags: &Flags,
    mut incoming: UnboundedReceiver<UnixStream>,
) {
    let services = Services::new(config, options.clone(), flags, Serving::All);
    let program = Arc::new(ControlledGateway::new(&services, GatewayKind::Own, options));
    let office = Office::new(services.control.clone(), Arc::clone(&program) as _);
    while let Some(socket) = incoming.recv().await {
        let taken = socket.set_nonblocking(true).and_then(|()| tokio::net::UnixStream::from_std(socket));
        if let Ok(socket) = taken {
            services.tasks.spawn(admin::serve(socket, office.clone()));
        }
    }
    services.close().await;
    program.flush();
}
