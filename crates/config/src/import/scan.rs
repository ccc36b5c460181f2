//! Everything that can be imported here.

use std::path::{Path, PathBuf};

use super::{FoundServer, files_to_import, read_to_import, servers_or_none};
use crate::environment::Environment;
use crate::load::LoadError;

/// What the programs on this machine have configured.
#[derive(Debug, Default)]
pub struct Scan {
    /// Those of the project first.
    pub servers: Vec<FoundServer>,
    /// Every file that was read, with servers or without.
    pub files: Vec<PathBuf>,
    /// Files that are there and cannot be used, and why.
    pub unread: Vec<(PathBuf, LoadError)>,
}

/// Reads the files of all programs we know, for this folder and for the user.
pub fn find_servers(environment: &Environment, cwd: &Path) -> Scan {
    let mut scan = Scan::default();
    for (client, _, path) in files_to_import(environment, cwd) {
        let read = read_to_import(&path).and_then(|text| {
            // A file that was made and not yet written to is nothing to tell of.
            if text.trim().is_empty() {
                return Ok(Vec::new());
            }
            servers_or_none(&text, &path, Some(client), environment)
        });
        match read {
            Ok(servers) => {
                scan.servers.extend(servers);
                scan.files.push(path);
            }
            Err(why) => scan.unread.push((path, why)),
        }
    }
    scan
}
