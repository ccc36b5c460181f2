//! Where the sockets and locks of a daemon lie: a folder that is its user's alone, names made of what it serves.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, open};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket as stream,
    sockopt::PeerCredentials,
};
use nix::sys::stat::Mode;
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

#[cfg(test)]
mod tests;

/// The longest path a socket may have, with room for what other systems allow less.
const MAX_SOCKET_PATH_BYTES: usize = 103;

/// How the names of sockets end where a gateway is controlled.
const CONTROL_ENDING: &str = "ctl.sock";

/// What a daemon serves: one for each of these, and each user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The real path of the config, or where it would be.
    pub config: String,
    pub profile: String,
}

/// The folders a user may have for such things.
#[derive(Debug, Clone, Default)]
pub struct BaseFolders {
    /// `$XDG_RUNTIME_DIR`, if it is set.
    pub runtime: Option<PathBuf>,
    /// `$XDG_STATE_HOME`, else `~/.local/state`.
    pub state: Option<PathBuf>,
}

/// The files of one daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    folder: PathBuf,
    name: String,
}

#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("neither XDG_RUNTIME_DIR nor a home folder is known")]
    NoFolder,
    #[error("`{}` {why}", .folder.display())]
    Unsafe { folder: PathBuf, why: &'static str },
    #[error("`{}` cannot be made: {source}", .folder.display())]
    Unmade { folder: PathBuf, source: io::Error },
}

impl Identity {
    /// Returns the name of the daemon's files: eight hex digits. The whole identity is compared when both ends meet.
    fn name(&self) -> String {
        let digest = Sha256::new().chain_update(&self.config).chain_update([0]).chain_update(&self.profile);
        digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Place {
    /// Finds the folder, and makes it if need be: below the runtime folder, which the system clears, else below the state
    /// folder. Never below one for temporary files, which editors like to set for themselves.
    pub fn open(base: &BaseFolders, identity: &Identity) -> Result<Self, PlaceError> {
        let place = Self::at(base, identity)?;
        if let Some(parent) = place.folder.parent().filter(|parent| !parent.is_dir()) {
            make_private(parent)
                .map_err(|source| PlaceError::Unmade { folder: parent.to_owned(), source })?;
        }
        place.make_folder()?;
        Ok(place)
    }

    /// Finds the folder where it is there, for somebody who only looks: none is made.
    pub fn find(base: &BaseFolders, identity: &Identity) -> Option<Self> {
        let place = Self::at(base, identity).ok()?;
        place.folder.is_dir().then_some(place)
    }

    fn at(base: &BaseFolders, identity: &Identity) -> Result<Self, PlaceError> {
        let runtime = base.runtime.as_deref().filter(|folder| folder.is_absolute() && folder.is_dir());
        let folder = match (runtime, &base.state) {
            (Some(runtime), _) => runtime.join("manifold"),
            (None, Some(state)) => state.join("manifold/run"),
            (None, None) => return Err(PlaceError::NoFolder),
        };
        Ok(Self { folder, name: identity.name() })
    }

    /// Makes the folder if it is not there, and checks that it is nobody else's.
    pub fn make_folder(&self) -> Result<(), PlaceError> {
        let folder = &self.folder;
        make_private(folder).map_err(|source| PlaceError::Unmade { folder: folder.clone(), source })?;
        let refuse = |why| Err(PlaceError::Unsafe { folder: folder.clone(), why });
        let found = folder
            .symlink_metadata()
            .map_err(|source| PlaceError::Unmade { folder: folder.clone(), source })?;
        if !found.is_dir() {
            return refuse("is no folder, but a link or a file");
        }
        if found.uid() != geteuid().as_raw() {
            return refuse("belongs to another user");
        }
        if found.mode() & 0o777 != 0o700
            && fs::set_permissions(folder, Permissions::from_mode(0o700)).is_err()
        {
            return refuse("has other rights than its user's alone");
        }
        Ok(())
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the name that all files of this daemon begin with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns where clients are served.
    pub fn client_socket(&self) -> PathBuf {
        self.file("mcp.sock")
    }

    /// Returns where the daemon is controlled.
    pub fn control_socket(&self) -> PathBuf {
        self.file(CONTROL_ENDING)
    }

    /// Returns where a gateway over HTTP, which has no daemon's lock, is controlled: each has its own.
    pub fn http_control_socket(&self, pid: u32) -> PathBuf {
        self.file(&format!("http-{pid}.{CONTROL_ENDING}"))
    }

    /// Returns where gateways over HTTP are controlled, and which processes they are. Some may be gone.
    pub fn http_control_sockets(&self) -> Vec<(u32, PathBuf)> {
        let prefix = format!("{}.http-", self.name);
        let pid_of = |name: &str| -> Option<u32> {
            name.strip_prefix(&prefix)?.strip_suffix(CONTROL_ENDING)?.strip_suffix('.')?.parse().ok()
        };
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<_> =
            entries.filter_map(|entry| Some((pid_of(entry.file_name().to_str()?)?, entry.path()))).collect();
        found.sort_unstable();
        found
    }

    /// Returns the lock that the daemon holds for as long as it lives.
    pub fn run_lock(&self) -> PathBuf {
        self.file("lock")
    }

    /// Returns the lock of whoever starts a daemon.
    pub fn start_lock(&self) -> PathBuf {
        self.file("spawn")
    }

    /// Returns the file that tells people which process it is.
    pub fn about_file(&self) -> PathBuf {
        self.file("json")
    }

    /// Returns the file by which the next program knows the pages that are open: the daemon's, or those of a gateway that
    /// serves HTTP at this port.
    pub fn pages_file(&self, http_port: Option<u16>) -> PathBuf {
        match http_port {
            Some(port) => self.file(&format!("http-{port}.pages")),
            None => self.file("pages"),
        }
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }

    /// Connects to one of the sockets; none where nobody listens. Whoever listens must be of our own user.
    pub fn reach(&self, socket: &Path) -> io::Result<Option<UnixStream>> {
        reached(short(socket).and_then(|(_folder, path)| UnixStream::connect(path)))
    }

    /// Connects likewise, and without waiting: would block where too many stand in line before us, as they do in front of
    /// a process that is frozen. The socket does not block either.
    pub fn reach_at_once(&self, socket: &Path) -> io::Result<Option<UnixStream>> {
        reached(short(socket).and_then(|(_folder, path)| connect_at_once(&path)))
    }
    /// Listens at one of the sockets; what lies there is removed, so only the holder of the run lock may.
    pub fn listen(&self, socket: &Path) -> io::Result<UnixListener> {
        match fs::remove_file(socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (_folder, path) = short(socket)?;
        let listener = UnixListener::bind(path)?;
        // Nobody else can enter the folder in between, whatever the umask is.
        fs::set_permissions(socket, Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    /// Removes the sockets and what tells of the daemon. Only for the holder of the run lock.
    pub fn clear(&self) {
        for path in [self.client_socket(), self.control_socket(), self.about_file()] {
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns the socket if whoever listens there is of our own user; none where nobody does.
fn reached(connected: io::Result<UnixStream>) -> io::Result<Option<UnixStream>> {
    match connected {
        Ok(socket) if is_our_user(&socket) => Ok(Some(socket)),
        Ok(_) => {
            let why = "another user's process listens in the daemon's place";
            Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
        }
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(error),
        },
    }
}

fn connect_at_once(path: &Path) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = UnixStream::from(stream(AddressFamily::Unix, SockType::Stream, flags, None)?);
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(socket)
}

/// Makes a folder, and those above it, where they are not there; for our user alone, whatever the umask is.
fn make_private(folder: &Path) -> io::Result<()> {
    if folder.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        make_private(above)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o700)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns a path to a socket that is short enough for the kernel, through a descriptor of its folder if need be, which
/// must be held for as long.
fn short(socket: &Path) -> io::Result<(Option<OwnedFd>, PathBuf)> {
    if socket.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
        return Ok((None, socket.to_owned()));
    }
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = open(folder, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    Ok((Some(folder), path))
}

/// Returns whether the other end is a process of our own user.
pub fn is_our_user(socket: &impl AsFd) -> bool {
    getsockopt(socket, PeerCredentials).is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

/// Returns which process the other end is; none where it cannot be seen from here.
pub fn peer_pid(socket: &impl AsFd) -> Option<u32> {
    getsockopt(socket, PeerCredentials)
        .ok()
        .and_then(|peer| u32::try_from(peer.pid()).ok())
        .filter(|pid| *pid != 0)
}
