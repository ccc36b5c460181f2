//! How a server of the registry or a bundle is named, and what it is told.

use clap::{Args, ValueEnum};

#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct PackageArgs {
    /// The name of a server in the MCP Registry, as `manifold search` shows it
    #[arg(long, value_name = "NAME")]
    pub(crate) registry: Option<String>,
    /// One version of it [default: the latest]
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// One way to have it [default: the first that can be used here]
    #[arg(long, value_name = "WAY")]
    pub(crate) source: Option<SourceArg>,
    /// Ask no registry; take what was kept of earlier answers
    #[arg(long)]
    pub(crate) offline: bool,
    /// Tell a server of the registry or a bundle something: NAME=VALUE, or NAME for the variable of that name
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
}

impl PackageArgs {
    /// Returns an option that was given and that only servers of the registry have.
    pub(crate) fn of_registry(&self) -> Option<&'static str> {
        let given = [
            (self.version.is_some(), "--version"),
            (self.source.is_some(), "--source"),
            (self.offline, "--offline"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }
}

/// A way to have a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceArg {
    Npm,
    Pypi,
    Oci,
    Nuget,
    Mcpb,
    Http,
    Sse,
}

impl SourceArg {
    /// Returns its name in the registry.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Oci => "oci",
            Self::Nuget => "nuget",
            Self::Mcpb => "mcpb",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}
