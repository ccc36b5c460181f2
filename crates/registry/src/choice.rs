//! The ways a server can be had: each of its packages, and each address it answers at.

use std::path::Path;

use crate::address::check_url;
use crate::bundle::{Bundle, BundleError, Extra, download};
use crate::fetch::Fetch;
use crate::flaw::{Flaw, Refused, Shown};
use crate::name::suggested_id;
use crate::plan::Plan;
use crate::server_json::{Package, ServerJson};

/// One way to have a server.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'s> {
    server: &'s ServerJson,
    way: Way,
}

/// A place in `server.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Package(usize),
    Remote(usize),
}

/// Where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Npm,
    Pypi,
    Oci,
    Nuget,
    Mcpb,
    Http,
    Sse,
    /// A kind that cannot be had; planning it says so.
    Unknown,
}

impl Source {
    /// Returns what it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Oci => "oci",
            Self::Nuget => "nuget",
            Self::Mcpb => "mcpb",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the program that must be there to run it.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Self::Npm => Some("npx"),
            Self::Pypi => Some("uvx"),
            Self::Oci => Some("docker"),
            Self::Nuget => Some("dnx"),
            Self::Mcpb | Self::Http | Self::Sse | Self::Unknown => None,
        }
    }
}

impl ServerJson {
    /// Returns all ways, packages first, as their publisher orders them.
    pub fn choices(&self) -> Vec<Choice<'_>> {
        let packages = (0..self.packages.len()).map(Way::Package);
        let ways = packages.chain((0..self.remotes.len()).map(Way::Remote));
        ways.map(|way| Choice { server: self, way }).collect()
    }

    /// Returns an id for an entry.
    pub fn suggested_id(&self) -> String {
        suggested_id(&self.name)
    }
}

impl<'s> Choice<'s> {
    pub fn way(&self) -> Way {
        self.way
    }

    pub fn source(&self) -> Source {
        match self.way {
            Way::Package(at) => match self.server.packages[at].registry_type.as_str() {
                "npm" => Source::Npm,
                "pypi" => Source::Pypi,
                "oci" => Source::Oci,
                "nuget" => Source::Nuget,
                "mcpb" => Source::Mcpb,
                _ => Source::Unknown,
            },
            Way::Remote(at) => match self.server.remotes[at].kind.as_str() {
                "streamable-http" => Source::Http,
                "sse" => Source::Sse,
                _ => Source::Unknown,
            },
        }
    }

    /// Returns what is run or asked; foreign text.
    pub fn identifier(&self) -> &'s str {
        match self.way {
            Way::Package(at) => &self.server.packages[at].identifier,
            Way::Remote(at) => self.server.remotes[at].url.as_deref().unwrap_or_default(),
        }
    }

    /// Returns how it would be started, unless it is a bundle, which has to be fetched to know.
    pub fn plan(&self) -> Result<Plan, Refused> {
        let id = self.server.suggested_id();
        match self.way {
            Way::Package(at) => within(format!("packages[{at}]"), self.server.packages[at].plan(&id)),
            Way::Remote(at) => within(format!("remotes[{at}]"), self.server.remotes[at].plan(&id)),
        }
    }

    /// Checks what can be known without fetching anything.
    pub fn check(&self) -> Result<(), Refused> {
        match self.bundle_package() {
            Some((at, package)) => within(format!("packages[{at}]"), bundle_source(package).map(|_| ())),
            None => self.plan().map(|_| ()),
        }
    }

    /// Fetches a bundle beside where bundles are unpacked and checks its SHA-256. Nothing is left of one that is refused.
    pub fn fetch_bundle(&self, fetch: &dyn Fetch, bundles: &Path) -> Result<Bundle, BundleError> {
        let Some((at, package)) = self.bundle_package() else {
            return Err(Flaw::PackageKind(Shown::new(self.source().name())).at("registryType").into());
        };
        let (url, sha256) = within(format!("packages[{at}]"), bundle_source(package))?;
        let extra = Extra {
            environment: package.environment_variables.clone(),
            arguments: package.package_arguments.clone(),
        };
        Ok(download(fetch, url, sha256, bundles)?.with_extra(extra))
    }

    fn bundle_package(&self) -> Option<(usize, &'s Package)> {
        match self.way {
            Way::Package(at) => {
                Some((at, &self.server.packages[at])).filter(|_| self.source() == Source::Mcpb)
            }
            Way::Remote(_) => None,
        }
    }
}

/// Returns where a bundle is, and what its file must hash to.
fn bundle_source(package: &Package) -> Result<(&str, &str), Refused> {
    package.check_transport()?;
    let url = package.identifier.as_str();
    check_url(url).map_err(|flaw| flaw.at("identifier"))?;
    let sha256 = package.file_sha256.as_deref().ok_or_else(|| Flaw::HashMissing.at("fileSha256"))?;
    let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { Ok((url, sha256)) } else { Err(Flaw::Hash.at("fileSha256")) }
}

fn within<T>(outer: String, result: Result<T, Refused>) -> Result<T, Refused> {
    result.map_err(|refused| Refused { place: format!("{outer}.{}", refused.place), ..refused })
}
