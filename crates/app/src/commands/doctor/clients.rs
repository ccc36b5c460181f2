//! Other programs' files: can they be read, do we stand in them as we should, and can they take what we offer?

use std::fs;
use std::path::{Path, PathBuf};

use manifold_config::{Client, Config, Scope, Server, Transport, Writing, clients, load_text};
use manifold_setup::Journal;

use super::super::uninstall::is_edited;
use super::context::{Context, word};
use super::{Outcome, Trouble};

/// What our entry is called unless somebody has named it otherwise, and our program.
const NAME: &str = "manifold";
/// How our program is told to serve a client on a pipe.
const SERVES: [&str; 4] = ["serve", "stdio", "--stdio", "litemcp"];
/// Nobody's config is larger.
const MAX_BYTES: u64 = 64 << 20;

/// A file of a client's that is there.
pub(super) struct ClientFile {
    pub(super) client: &'static Client,
    pub(super) path: PathBuf,
    /// What is in it, as we read it; or why it cannot be read.
    config: Result<Config, String>,
}

impl ClientFile {
    /// Returns the entries that start us, or lead to us.
    pub(super) fn ours(&self) -> impl Iterator<Item = &Server> {
        self.servers().filter(|server| is_ourselves(server))
    }

    fn servers(&self) -> impl Iterator<Item = &Server> {
        self.config.iter().flat_map(|config| &config.servers)
    }

    fn install(&self) -> String {
        format!("manifold install {}", self.client.id())
    }
}

fn is_ourselves(server: &Server) -> bool {
    let program = match &server.transport {
        Transport::Process(spec) => is_named_like_us(Path::new(&spec.command)),
        _ => false,
    };
    program || server.key.id == NAME
}

/// Returns the files of every client whose file we know how to write.
pub(super) fn found(context: &Context<'_>) -> Vec<ClientFile> {
    let mut found = Vec::new();
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for client in clients().iter().filter(|client| client.writing() == Writing::File) {
        let of = |scope| client.files(scope, context.environment());
        for path in of(Scope::User).into_iter().chain(of(Scope::Project)).filter(|path| path.is_file()) {
            // In the home folder a user's file lies where a project's would.
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            if seen.contains(&(client.id(), real.clone())) {
                continue;
            }
            seen.push((client.id(), real));
            let config = read(&path).and_then(|text| {
                // Some keep an empty file until there is something to say.
                let text = if text.trim().is_empty() { "{}".to_owned() } else { text };
                load_text(&text, Some(&path), context.options()).map_err(|error| error.to_string())
            });
            found.push(ClientFile { client, path, config });
        }
    }
    found
}

fn read(path: &Path) -> Result<String, String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    if path.metadata().map_err(told)?.len() > MAX_BYTES {
        return Err(format!("{}: is larger than 64 MiB", path.display()));
    }
    fs::read_to_string(path).map_err(told)
}

/// A file without servers is as good as any other here.
pub(super) fn files(context: &Context<'_>) -> Outcome {
    let told = |file: ClientFile| {
        // So is one with nothing but a comment in it.
        let is_empty = |why: &str| why.contains("has no servers") || why.contains(": is empty;");
        let why = file.config.err().filter(|why| !is_empty(why))?;
        let message = format!("{}'s file cannot be read: {why}", file.client.title());
        Some(Trouble::fail(message, format!("manifold config check {}", word(&file.path))))
    };
    found(context).into_iter().filter_map(told).collect::<Vec<_>>().into()
}

/// A client that is there and does not have us.
pub(super) fn without_us(context: &Context<'_>) -> Outcome {
    let files = found(context);
    let has_us = |client: &Client| {
        files.iter().any(|file| {
            file.client.id() == client.id() && (file.config.is_err() || file.ours().next().is_some())
        })
    };
    let there = clients().iter().filter(|client| client.writing() == Writing::File);
    let there = there.filter(|client| client.is_present(context.environment()) && !has_us(client));
    let told = |client: &Client| {
        let message = format!("{} is there and does not have us", client.title());
        Trouble::warn(message, format!("manifold install {}", client.id()))
    };
    there.map(told).collect::<Vec<_>>().into()
}

/// An entry whose program is gone: it was moved, or updated to another place.
pub(super) fn entry_paths(context: &Context<'_>) -> Outcome {
    let mut troubles = Vec::new();
    for file in found(context) {
        for server in file.ours() {
            if let Some(why) = gone_program(server, context) {
                let message = format!("{}: the entry '{}' starts {why}", file.path.display(), server.key.id);
                troubles.push(Trouble::fail(message, file.install()));
            }
        }
    }
    troubles.into()
}

/// Returns the program that an entry starts and that cannot be started, with the reason. What clients fetch for themselves,
/// such as `npx manifold`, is theirs to find.
pub(super) fn gone_program(server: &Server, context: &Context<'_>) -> Option<String> {
    let Transport::Process(spec) = &server.transport else { return None };
    let path = Path::new(&spec.command);
    if !path.is_absolute() {
        let folders = context.environment().vars.get("PATH");
        let is_there = which::which_in(path, folders, &context.environment().cwd).is_ok();
        return (!is_there && is_named_like_us(path))
            .then(|| format!("`{}`, which is not on PATH", spec.command));
    }
    if !path.exists() {
        return Some(format!("{}, which is gone", path.display()));
    }
    let is_program = path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok();
    (!is_program).then(|| format!("{}, which is no program", path.display()))
}

fn is_named_like_us(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == NAME)
}

/// An entry of ours that does something else.
pub(super) fn edited_entries(context: &Context<'_>) -> Outcome {
    let mut troubles = Vec::new();
    let journal = context.environment().state_home().and_then(|home| Journal::open(&home).ok());
    for file in found(context) {
        let text = read(&file.path).unwrap_or_default();
        for server in file.ours() {
            let name = &server.key.id;
            let written = journal.as_ref().and_then(|journal| journal.written(&file.path, name));
            if written.is_some_and(|written| is_edited(file.client, &file.path, name, &written, &text)) {
                let message = format!(
                    "{}: the entry '{name}' has been changed since it was written",
                    file.path.display()
                );
                let fix = format!("manifold install {} --dry-run", file.client.id());
                troubles.push(Trouble::warn(message, fix));
                continue;
            }
            // One that cannot start is told of already.
            if gone_program(server, context).is_some() {
                continue;
            }
            let is_as_written = match &server.transport {
                Transport::Process(spec) => {
                    Path::new(&spec.command).file_name().is_some_and(|name| name == NAME)
                        && spec.args.iter().any(|word| SERVES.contains(&word.as_str()))
                }
                Transport::Remote(spec) => spec.url.contains("/mcp"),
                Transport::Builtin(_) => false,
            };
            if !is_as_written {
                let message = format!(
                    "{}: the entry '{}' is not as `manifold install` writes it",
                    file.path.display(),
                    server.key.id
                );
                troubles.push(Trouble::warn(message, file.install()));
            }
        }
    }
    troubles.into()
}

/// A server that a client has twice: from us, and by itself.
pub(super) fn duplicates(context: &Context<'_>) -> Outcome {
    let mut troubles = Vec::new();
    for file in found(context).into_iter().filter(|file| file.ours().next().is_some()) {
        let others = file.servers().filter(|server| server.enabled && !is_ourselves(server));
        let twice = others.filter(|other| context.servers().any(|own| starts_same(own, other)));
        let twice: Vec<String> = twice.map(|server| format!("'{}'", server.key.id)).collect();
        if !twice.is_empty() {
            let message = format!("{}: {} is served by us as well", file.path.display(), twice.join(", "));
            troubles.push(Trouble::warn(message, format!("{} --take-over", file.install())));
        }
    }
    troubles.into()
}

fn starts_same(one: &Server, other: &Server) -> bool {
    match (&one.transport, &other.transport) {
        (Transport::Process(one), Transport::Process(other)) => {
            one.command == other.command && one.args == other.args && one.env == other.env
        }
        (Transport::Remote(one), Transport::Remote(other)) => {
            one.url == other.url && one.headers == other.headers
        }
        _ => false,
    }
}

pub(super) fn tool_counts(context: &Context<'_>) -> Outcome {
    limited(context, |file, _| {
        let (count, most) = (context.tools().len(), file.client.limits().max_tools?);
        (count > most).then(|| format!("{count} tools, and it takes {most}"))
    })
}

pub(super) fn tool_names(context: &Context<'_>) -> Outcome {
    limited(context, |file, entry| {
        let limits = file.client.limits();
        let is_long = |name: &&str| limits.excess(entry, name) > 0;
        let long: Vec<&str> = context.tools().iter().map(|tool| tool.name.as_str()).filter(is_long).collect();
        let becomes = limits.too_long.as_deref().unwrap_or("is cut");
        let first = long.first()?;
        Some(format!(
            "{} too long for it with its prefix, such as '{first}', which {becomes}",
            names(long.len())
        ))
    })
}

pub(super) fn descriptions(context: &Context<'_>) -> Outcome {
    limited(context, |file, _| {
        let most = file.client.limits().max_description_bytes?;
        let long: Vec<_> = context.tools().iter().filter(|tool| tool.description_bytes > most).collect();
        let first = long.first()?;
        Some(format!(
            "{} described in more than the {most} bytes it reads, such as '{}'",
            names(long.len()),
            first.name
        ))
    })
}

fn names(count: usize) -> String {
    if count == 1 { "1 tool is".to_owned() } else { format!("{count} tools are") }
}

/// Looks at the tools as each client that has us would; `judge` says what is too much.
fn limited(context: &Context<'_>, judge: impl Fn(&ClientFile, &str) -> Option<String>) -> Outcome {
    let mut troubles = Vec::new();
    for file in found(context) {
        let Some(entry) = file.ours().next().map(|server| server.key.id.clone()) else { continue };
        if let Some(what) = judge(&file, &entry) {
            let message = format!("{}: {what}", file.client.title());
            troubles.push(Trouble::warn(message, "manifold tools"));
        }
    }
    troubles.into()
}
