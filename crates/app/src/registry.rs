//! The MCP Registry and bundles, for commands: asking over the network, choosing among the ways to have a server, and the
//! entry that comes of it.

mod choose;
mod prepared;
mod runtime;
#[cfg(test)]
mod tests;
mod web;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use manifold_config::Environment;
use manifold_registry::{
    Address, Answered, Bundle, BundleError, Cache, Found, Freshness, Listed, Places, Registry, RegistryError,
    Source, Status,
};

use crate::output::{Exit, Failure, span};
pub(crate) use prepared::Prepared;
use web::Web;

/// The way to the registry, and where its answers and bundles are kept.
pub(crate) struct RegistryClient<'e> {
    environment: &'e Environment,
    web: Web,
    address: Address,
    freshness: Freshness,
}

/// Which server is meant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a str,
    /// One version; the latest if none is named.
    pub(crate) version: Option<&'a str>,
    /// One way to have it: `npm`, `pypi`, `oci`, `nuget`, `mcpb`, `http` or `sse`.
    pub(crate) source: Option<&'a str>,
}

impl<'e> RegistryClient<'e> {
    /// Makes a way to the registry that the environment names.
    pub(crate) fn new(environment: &'e Environment, freshness: Freshness) -> Result<Self, Failure> {
        let named = environment.vars.get("MANIFOLD_REGISTRY").filter(|url| !url.is_empty());
        let address = match named {
            Some(url) => Address::parse(url).map_err(|error| Failure::usage(error.to_string()))?,
            None => Address::default(),
        };
        let web = Web::new().map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))?;
        Ok(Self { environment, web, address, freshness })
    }

    pub(crate) fn search(&self, words: &[String], limit: usize) -> Result<Answered<Found>, Failure> {
        self.registry().search(words, limit).map_err(failure)
    }

    /// Finds a server and the best way to have it. A bundle is fetched for that, and goes again if it is not taken.
    pub(crate) fn prepare(&self, wanted: Wanted<'_>) -> Result<Prepared, Failure> {
        let Answered { answer, age } =
            self.registry().server(wanted.name, wanted.version).map_err(failure)?;
        let mut remarks = about(&answer);
        if let Some(age) = age.filter(|_| self.freshness == Freshness::Offline) {
            remarks.push(format!("as the registry had it {} ago", span(millis(age))));
        }
        let choice = choose::choose(&answer.server, wanted.source, |program| self.is_there(program))?;
        remarks.extend(choice.remark);
        if choice.choice.source() == Source::Mcpb {
            if self.freshness == Freshness::Offline {
                let message = format!("'{}' is a bundle that would have to be fetched", wanted.name);
                return Err(Failure::new(Exit::Failed, "offline", message).hint("leave out --offline"));
            }
            let bundle = choice.choice.fetch_bundle(&self.web, &self.bundles()?);
            let bundle = bundle.map_err(|error| bundle_failure(wanted.name, &error))?;
            return self.prepared(wanted.name, bundle, remarks);
        }
        let plan = choice.choice.plan().map_err(|refused| refusal(wanted.name, &refused.to_string()))?;
        let plan = plan.with_programs(|program| self.is_there(program));
        Ok(Prepared::new(wanted.name.to_owned(), plan, remarks))
    }

    /// Looks into a bundle of the user's own.
    pub(crate) fn prepare_file(&self, path: &Path) -> Result<Prepared, Failure> {
        let name = path.display().to_string();
        let bundle = Bundle::open(path).map_err(|error| bundle_failure(&name, &error))?;
        self.prepared(&name, bundle, Vec::new())
    }

    fn prepared(&self, name: &str, bundle: Bundle, mut remarks: Vec<String>) -> Result<Prepared, Failure> {
        let bundles = self.bundles()?;
        let home =
            self.environment.home.as_deref().ok_or_else(|| Failure::config("there is no home folder"))?;
        let plan = bundle.plan(&bundles, &Places::below(home));
        let plan = plan.map_err(|error| bundle_failure(name, &error))?;
        let plan = plan.with_programs(|program| self.is_there(program));
        remarks
            .extend(bundle.manifest().runtimes().iter().filter_map(|needed| runtime::remark(needed, self)));
        Ok(Prepared::new(name.to_owned(), plan, remarks).with_bundle(bundle, bundles))
    }

    fn registry(&self) -> Registry<'_> {
        let folder = self.environment.cache_home().map(|home| home.join("manifold").join("registry"));
        Registry {
            fetch: &self.web,
            address: self.address.clone(),
            cache: Cache::new(folder),
            freshness: self.freshness,
            now: SystemTime::now(),
        }
    }

    /// Returns where bundles are unpacked.
    fn bundles(&self) -> Result<PathBuf, Failure> {
        bundles_folder(self.environment)
            .ok_or_else(|| Failure::config("there is no folder for data; set HOME"))
    }

    /// Returns where a program is.
    fn find(&self, program: &str) -> Option<PathBuf> {
        which::which_in(program, self.environment.vars.get("PATH"), &self.environment.cwd).ok()
    }

    fn is_there(&self, program: &str) -> bool {
        self.find(program).is_some()
    }
}

/// Returns where bundles are unpacked; none where nobody is at home.
pub(crate) fn bundles_folder(environment: &Environment) -> Option<PathBuf> {
    Some(environment.data_home()?.join("manifold").join("bundles"))
}

/// Returns what its publisher says of a server's state.
fn about(listed: &Listed) -> Vec<String> {
    match listed.status {
        Status::Active | Status::Deleted => Vec::new(),
        Status::Deprecated => {
            let why = listed.status_message.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            vec![format!("its publisher calls it deprecated{why}")]
        }
    }
}

pub(crate) fn millis(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn failure(error: RegistryError) -> Failure {
    let message = error.to_string();
    match error {
        RegistryError::Unreached { .. } => Failure::new(Exit::Unreachable, "unreachable", message)
            .hint("with --offline what was kept of earlier answers is used"),
        RegistryError::Unknown { name, .. } => {
            let word = name.rsplit('/').next().unwrap_or_default().to_owned();
            Failure::new(Exit::Unknown, "unknown-server", message)
                .hint(format!("try `manifold search {word}`"))
        }
        RegistryError::NotKept { .. } => Failure::new(Exit::Failed, "not-kept", message),
        RegistryError::Deleted { .. } => Failure::new(Exit::Failed, "deleted", message),
        RegistryError::Refused { .. } => Failure::new(Exit::Failed, "registry-refused", message),
        RegistryError::Asked(_) => Failure::usage(message).hint("`manifold search WORDS` finds names"),
        RegistryError::NoWords => Failure::usage(message),
    }
}

fn refusal(name: &str, why: &str) -> Failure {
    Failure::new(Exit::Failed, "registry-refused", format!("'{name}' cannot be taken over: {why}"))
        .hint("nothing was written")
}

fn bundle_failure(name: &str, error: &BundleError) -> Failure {
    Failure::new(Exit::Failed, "bundle-refused", format!("the bundle of '{name}' is refused: {error}"))
        .hint("nothing was written")
}
