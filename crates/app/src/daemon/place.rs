//! Where the daemon of an invocation is to be found.

use std::path::{Path, PathBuf};

use manifold_config::{ABOVE, Environment, LoadOptions, Profile, config_path};
use manifold_rendezvous::{BaseFolders, Identity};

/// Returns what the daemon of these options serves.
pub(crate) fn identity(options: &LoadOptions, profile: Profile) -> Identity {
    let path = config_path(options).unwrap_or_default();
    let path = options.environment.cwd.join(path);
    Identity { config: real(&path).to_string_lossy().into_owned(), profile: profile.name().to_owned() }
}

/// Returns the real path of a file, or of its folder where the file is not there yet.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => {
            std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()).join(name)
        }
        _ => path.to_owned(),
    })
}

/// Returns the folders that may hold its sockets.
pub(crate) fn base_folders(environment: &Environment) -> BaseFolders {
    let runtime = environment.vars.get("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    BaseFolders { runtime: runtime.map(PathBuf::from), state: environment.state_home() }
}

/// Returns whether we were started by a gateway: what it starts ends with it.
pub(crate) fn is_below_another(environment: &Environment) -> bool {
    [ABOVE, manifold_upstreams::process::TREE_MARKER].iter().any(|name| environment.vars.contains_key(*name))
}

/// Returns whether systemd listens for us, and goes on listening when we are gone. The variable also tells a program that
/// takes our place.
pub(crate) fn is_listened_for(options: &LoadOptions) -> bool {
    options.environment.vars.contains_key("LISTEN_FDS")
}
