//! Which files are looked at, and what is in them.

use std::path::Path;

use manifold_admin::UnreadFile;
use manifold_config::{
    Client, FoundServer, LoadError, client, clients, files_to_import, find_servers, load, read_to_import,
    servers_in,
};

use crate::commands::verb::Verb;
use crate::output::{Exit, Failure, Suggestion};

/// Returns the servers of all files, of one program's, or of one file; never those of our own config.
pub(super) fn servers(from: Option<&Path>, own: &Path, verb: &Verb) -> Result<Found, Failure> {
    let mut found = match from {
        None => of_all(verb),
        Some(from) => match from.to_str().and_then(client) {
            Some(client) => of_client(client, verb)?,
            None => Found { servers: of_file(from, verb)?, unread: Vec::new() },
        },
    };
    found.servers.retain(|server| !is_same_file(&server.file, own));
    // Where our config has us serve at another address than usual, an entry that leads there is ours.
    if let Ok(config) = load(verb.options) {
        let http = &config.settings.http;
        found.servers.iter_mut().for_each(|server| server.know_ourselves(&http.host, http.port));
    }
    Ok(found)
}

/// What was found in files.
#[derive(Default)]
pub(in crate::commands) struct Found {
    pub(in crate::commands) servers: Vec<FoundServer>,
    /// Files that are there and could not be read, and why.
    pub(in crate::commands) unread: Vec<UnreadFile>,
}

fn unread(path: &Path, why: &LoadError) -> UnreadFile {
    UnreadFile { file: path.display().to_string(), why: why.to_string() }
}

fn of_all(verb: &Verb) -> Found {
    let environment = &verb.options.environment;
    let scan = find_servers(environment, &environment.cwd);
    for (_, why) in &scan.unread {
        verb.output.remark(&format!("left out: {why}"));
    }
    if scan.servers.is_empty() {
        verb.output.remark("no program that is known here has servers");
    }
    let unread = scan.unread.iter().map(|(path, why)| unread(path, why)).collect();
    Found { servers: scan.servers, unread }
}

fn of_client(client: &'static Client, verb: &Verb) -> Result<Found, Failure> {
    let environment = &verb.options.environment;
    let files = files_to_import(environment, &environment.cwd);
    let files: Vec<_> = files.into_iter().filter(|(whose, _, _)| whose.id() == client.id()).collect();
    if files.is_empty() {
        let message = format!("{} has no file here that servers could be in", client.title());
        return Err(Failure::new(Exit::Failed, "failed", message).hint("name the file: `--from FILE`"));
    }
    let mut found = Vec::new();
    let mut refused: Vec<UnreadFile> = Vec::new();
    for (_, _, path) in files {
        let read = read_to_import(&path).and_then(|text| servers_in(&text, &path, Some(client), environment));
        match read {
            Ok(servers) => found.extend(servers),
            Err(why) => refused.push(unread(&path, &why)),
        }
    }
    let said: Vec<String> = refused.iter().map(|file| file.why.clone()).collect();
    if found.is_empty() {
        return Err(Failure::config(said.join("\n")));
    }
    said.iter().for_each(|why| verb.output.remark(&format!("left out: {why}")));
    Ok(Found { servers: found, unread: refused })
}

fn of_file(path: &Path, verb: &Verb) -> Result<Vec<FoundServer>, Failure> {
    let environment = &verb.options.environment;
    let named = path.display().to_string();
    let path = environment.cwd.join(path);
    if !path.exists() && !named.contains(['/', '.']) {
        let ids = clients().iter().map(Client::id);
        let hint = Suggestion::among(ids, &named).or("name a file, or a program such as `cursor`");
        return Err(
            Failure::usage(format!("there is no program '{named}' that is known, and no file")).hint(hint)
        );
    }
    if !path.exists() {
        let message = format!("{}: does not exist", path.display());
        return Err(Failure::config(message).hint("name a file that is there, or a program such as `cursor`"));
    }
    let read = read_to_import(&path).and_then(|text| servers_in(&text, &path, None, environment));
    read.map_err(|why| Failure::config(why.to_string()))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
