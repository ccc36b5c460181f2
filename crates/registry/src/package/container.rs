//! Images of containers, and what a server may open of this machine to its own.

use crate::answer::Question;
use crate::flaw::{Flaw, Refused, Shown};
use crate::name::is_variable_name;
use crate::server_json::Package;
use crate::template::{Piece, Template};

/// Stands for an answer in a text that is judged.
const ANSWER: char = '\u{1}';

/// Returns an image's whole name.
pub(super) fn image(package: &Package, remarks: &mut Vec<String>) -> Result<String, Refused> {
    let identifier = package.identifier.as_str();
    let flaw = || Flaw::Identifier(Shown::new(identifier)).at("identifier");
    let (named, digest) = match identifier.split_once('@') {
        Some((named, digest)) => (named, Some(digest)),
        None => (identifier, None),
    };
    // A colon behind the last slash begins a tag, one before it a port.
    let tag_at = named.rfind(':').filter(|at| !named[*at..].contains('/'));
    let (repository, tag) = match tag_at {
        Some(at) => (&named[..at], Some(&named[at + 1..])),
        None => (named, package.version.as_deref().filter(|_| digest.is_none())),
    };
    let is_right = repository.len() <= 255
        && is_repository(repository)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest);
    if !is_right {
        return Err(flaw());
    }
    match (tag, digest) {
        (None, None) => return Err(Flaw::Missing.at("version")),
        (Some(tag), None) if tag.eq_ignore_ascii_case("latest") => {
            remarks.push("its tag is `latest`, so what runs may change from day to day".to_owned());
        }
        _ => {}
    }
    let host = host(package.registry_base_url.as_deref(), repository)?;
    let tag = tag.map(|tag| format!(":{tag}")).unwrap_or_default();
    let digest = digest.map(|digest| format!("@{digest}")).unwrap_or_default();
    Ok(format!("{host}{repository}{tag}{digest}"))
}

/// Returns the host to put in front, where an older description has it beside the name.
fn host(base: Option<&str>, repository: &str) -> Result<String, Refused> {
    let Some(base) = base.filter(|base| !base.is_empty()) else { return Ok(String::new()) };
    let host = base.strip_prefix("https://").unwrap_or(base).trim_end_matches('/');
    if !is_repository(host) || host.contains('/') {
        return Err(Flaw::OtherRegistry(Shown::new(base)).at("registryBaseUrl"));
    }
    let first = repository.split('/').next().unwrap_or_default();
    let has_host = repository.contains('/') && (first.contains(['.', ':']) || first == "localhost");
    match has_host || matches!(host, "docker.io" | "index.docker.io" | "registry-1.docker.io") {
        true => Ok(String::new()),
        false => Ok(format!("{host}/")),
    }
}

fn is_repository(text: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphanumeric())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    // Only a host has a port, and only before something else.
    let (host, rest) = text.split_once('/').unwrap_or((text, ""));
    let host = match host.split_once(':') {
        Some((name, port)) if !rest.is_empty() && port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    is_part(host) && (rest.is_empty() && !text.ends_with('/') || rest.split('/').all(is_part))
}

fn is_tag(tag: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=128).contains(&tag.len()) && tag.bytes().all(is_allowed) && !tag.starts_with(['.', '-'])
}

fn is_digest(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

/// Accepts a mount whose source the user names, or that is none of this machine's folders.
pub(super) fn check_mount(template: &Template, questions: &mut [Question]) -> Result<(), Flaw> {
    let text = judged(template);
    let (at, source) = match text.contains('=') {
        false => (0, text.split(':').next().unwrap_or_default()),
        true => mount_source(&text)?,
    };
    let Some(below) = source.strip_prefix(ANSWER) else {
        let is_fine = source.is_empty() || is_volume(source);
        return if is_fine { Ok(()) } else { Err(Flaw::Mount(Shown::new(source))) };
    };
    if below.contains("..") {
        return Err(Flaw::Mount(Shown::new(below)));
    }
    // Which folder it is must be said, not taken over with everything else.
    let before = text[..at].matches(ANSWER).count();
    let mut answers = template.0.iter().filter_map(|piece| match piece {
        Piece::Answer(question) => Some(*question),
        Piece::Text(_) => None,
    });
    if let Some(question) = answers.nth(before) {
        questions[question].default.clear();
        questions[question].required = true;
    }
    Ok(())
}

/// Returns the source of `type=bind,src=…,dst=…`, and where it begins.
fn mount_source(text: &str) -> Result<(usize, &str), Flaw> {
    let mut source = (0, "");
    let mut at = 0;
    for pair in text.split(',') {
        match pair.split_once('=') {
            Some((name @ ("src" | "source"), named)) => source = (at + name.len() + 1, named),
            Some(("type" | "dst" | "destination" | "target" | "tmpfs-size" | "tmpfs-mode", _)) => {}
            Some(("readonly" | "ro", _)) => {}
            None if matches!(pair, "readonly" | "ro") => {}
            // A volume's driver can be told to open any folder.
            _ => return Err(Flaw::Mount(Shown::new(pair))),
        }
        at += pair.len() + 1;
    }
    Ok(source)
}

fn is_volume(source: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    source.bytes().all(is_allowed) && source.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// Accepts `NAME=value`; says whether it is a bare `NAME`, by which a container gets whatever the user has under it. That is
/// said by us, for the server's own variables that have a value.
pub(super) fn is_bare_env(template: &Template, own: &Package) -> Result<bool, Flaw> {
    let text = judged(template);
    match text.split_once('=') {
        Some((name, _)) if is_variable_name(name) => Ok(false),
        None if own.environment_variables.iter().any(|variable| variable.name == text) => Ok(true),
        _ => Err(Flaw::VariableName(Shown::new(&text))),
    }
}

/// Accepts a port that only this machine can reach.
pub(super) fn is_local_port(template: &Template) -> bool {
    judged(template).starts_with("127.0.0.1:")
}

pub(super) fn judged(template: &Template) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Answer(_) => ANSWER.to_string(),
    };
    template.0.iter().map(piece).collect()
}
