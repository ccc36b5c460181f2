//! Where the programs we know keep their files.

use std::path::{Path, PathBuf};

use crate::client_environment::project_root;
use crate::clients::{Client, Scope, clients};
use crate::environment::Environment;

/// Returns the files of all programs that are there, those of the project first. A file that several read is the first's.
pub fn files_to_import(environment: &Environment, cwd: &Path) -> Vec<(&'static Client, Scope, PathBuf)> {
    let mut folders = vec![cwd.to_path_buf()];
    let root = project_root(cwd);
    if root != cwd {
        folders.push(root);
    }
    let mut files = Vec::new();
    for folder in &folders {
        let there = Environment { cwd: folder.clone(), ..environment.clone() };
        files.extend(all(Scope::Project, &there));
    }
    let of_user: Vec<_> = all(Scope::User, environment).collect();
    // In the home folder a user's file lies where a project's would.
    files.retain(|(_, _, path)| !of_user.iter().any(|(_, _, users)| users == path));
    files.extend(of_user);
    let mut seen: Vec<PathBuf> = Vec::new();
    files.retain(|(_, _, path)| {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let is_new = path.is_file() && !seen.contains(&real);
        seen.push(real);
        is_new
    });
    files
}

fn all(scope: Scope, environment: &Environment) -> impl Iterator<Item = (&'static Client, Scope, PathBuf)> {
    clients().iter().flat_map(move |client| {
        files_of(client, scope, environment).into_iter().map(move |path| (client, scope, path))
    })
}

/// Returns the project whose file this is; `None` for a file that is the user's.
pub(super) fn project_of(client: Option<&Client>, file: &Path, environment: &Environment) -> Option<PathBuf> {
    let client = client?;
    if files_of(client, Scope::User, environment).iter().any(|users| users == file) {
        return None;
    }
    client.project_of(file).map(Path::to_path_buf)
}

/// Returns where a program looks for its files.
pub(super) fn files_of(client: &Client, scope: Scope, environment: &Environment) -> Vec<PathBuf> {
    let mut files = client.files(scope, environment);
    if scope == Scope::User {
        files.extend(client.system_files(environment));
    }
    files
}
