//! Names of packages. What is no plain name could be an option, a path, an address or a command for whoever gets it.

use super::Runtime;
use crate::flaw::{Flaw, Shown};

/// Accepts the name of a package.
pub(super) fn check(runtime: Runtime, identifier: &str) -> Result<(), Flaw> {
    let is_name = match runtime {
        Runtime::Npx => match identifier.strip_prefix('@') {
            Some(scoped) => {
                scoped.split_once('/').is_some_and(|(scope, name)| is_plain(scope) && is_plain(name))
            }
            None => is_plain(identifier),
        },
        _ => is_plain(identifier),
    };
    if is_name && identifier.len() <= 214 { Ok(()) } else { Err(Flaw::Identifier(Shown::new(identifier))) }
}

fn is_plain(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    name.bytes().all(is_allowed) && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
}

/// Accepts the registry the runtime asks by itself. A package of the same name elsewhere is another package.
pub(super) fn check_base(runtime: Runtime, base: Option<&str>) -> Result<(), Flaw> {
    let Some(base) = base.filter(|base| !base.is_empty()) else { return Ok(()) };
    let own: &[&str] = match runtime {
        Runtime::Npx => &["https://registry.npmjs.org", "https://www.npmjs.com"],
        Runtime::Uvx => &["https://pypi.org", "https://pypi.org/simple"],
        Runtime::Dnx => {
            &["https://api.nuget.org", "https://api.nuget.org/v3/index.json", "https://www.nuget.org"]
        }
        Runtime::Docker | Runtime::Podman => &[],
    };
    match own.contains(&base.trim_end_matches('/')) {
        true => Ok(()),
        false => Err(Flaw::OtherRegistry(Shown::new(base))),
    }
}
