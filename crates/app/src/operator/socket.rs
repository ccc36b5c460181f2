//! The control socket of a gateway that is no daemon.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use manifold_admin::GatewayKind;
use manifold_config::{LoadOptions, Profile};
use manifold_frontends::admin::{self, Office, Pages, SharedPage};
use manifold_rendezvous::{Place, is_our_user};
use tokio::net::UnixListener;
use tokio::time::sleep;
use tracing::{info, warn};

use super::ControlledGateway;
use crate::daemon::{base_folders, identity};
use crate::wiring::Services;

/// How long is waited where no descriptor is left for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// A socket that operators come to for as long as this lives.
pub(crate) struct ControlSocket {
    path: PathBuf,
    program: Arc<ControlledGateway>,
    office: Office,
}

impl ControlSocket {
    /// Opens one for a gateway over HTTP. It serves its clients whether this works or not.
    pub(crate) fn open(
        services: &Services,
        options: &LoadOptions,
        profile: Profile,
        http_port: u16,
    ) -> Option<Self> {
        let listening = || -> Result<(PathBuf, UnixListener, Place), String> {
            let place = Place::open(&base_folders(&options.environment), &identity(options, profile));
            let place = place.map_err(|error| error.to_string())?;
            let path = place.http_control_socket(std::process::id());
            let listener = place.listen(&path).and_then(|listener| {
                listener.set_nonblocking(true)?;
                UnixListener::from_std(listener)
            });
            listener
                .map(|listener| (path.clone(), listener, place))
                .map_err(|error| format!("{}: {error}", path.display()))
        };
        let (path, listener, place) = listening()
            .inspect_err(|why| warn!("commands such as `manifold list` do not reach this gateway: {why}"))
            .ok()?;
        info!("controlled at {}", path.display());
        let program = Arc::new(ControlledGateway::new(services, GatewayKind::Http, options.clone()));
        let pages = Pages::new(Some(place.pages_file(Some(http_port))), services.tasks.clone());
        let office = Office::new(services.control.clone(), Arc::clone(&program) as _).with_pages(pages);
        services.tasks.spawn_background(accept(listener, services.clone(), office.clone()));
        Some(Self { path, program, office })
    }

    /// Returns the page for those who come over HTTP.
    pub(crate) fn page(&self, may_act: bool) -> SharedPage {
        SharedPage::new(self.office.clone(), may_act)
    }

    /// Lets what operators have asked come to its end, for so long.
    pub(crate) async fn drain(&self, patience: Duration) {
        self.office.close(patience).await;
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        self.program.flush();
    }
}

async fn accept(listener: UnixListener, services: Services, office: Office) {
    loop {
        match listener.accept().await {
            Ok((socket, _)) if is_our_user(&socket) => {
                services.tasks.spawn_background(admin::serve(socket, office.clone()));
            }
            Ok(_) => {}
            Err(error) => {
                warn!("no order can be taken: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}
