//! Which namespace a process serves (decisions 3 to 5).

#[cfg(test)]
mod tests;

use crate::model::{Config, Format, Namespace};

/// The namespace of schema files when none is named.
const DEFAULT: &str = "default";

/// The outcome of choosing a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    Namespace {
        id: String,
        how: How,
    },
    /// No namespaces are configured: every server.
    All,
    /// There is no such namespace, or it is disabled.
    Unknown {
        requested: String,
        /// The ids of those that could be chosen.
        exists: Vec<String>,
        disabled: bool,
        /// A `schemas` file: start-up fails. Otherwise the process stays up and says so to its client.
        fatal: bool,
    },
    /// Several namespaces and none chosen.
    Ambiguous {
        exists: Vec<String>,
    },
}

/// What chose a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Flag,
    Default,
    Only,
}

/// Chooses the namespace to serve; `requested` is `--namespace`, an id or a unique name.
pub fn select_namespace(config: &Config, requested: Option<&str>) -> Selection {
    match requested {
        // `default` also names whatever is selected where none has that id.
        Some(DEFAULT) if find(config, DEFAULT).is_none() => unrequested(config),
        Some(requested) => named(config, requested, How::Flag),
        None => unrequested(config),
    }
}

fn unrequested(config: &Config) -> Selection {
    if let Some(default) = &config.default_namespace {
        return named(config, default, How::Default);
    }
    if config.source.format == Format::Schemas {
        return named(config, DEFAULT, How::Default);
    }
    let mut enabled = config.namespaces.iter().filter(|namespace| namespace.enabled);
    match (enabled.next(), enabled.next(), config.namespaces.first()) {
        (Some(only), None, _) => Selection::Namespace { id: only.id.clone(), how: How::Only },
        (Some(_), Some(_), _) => Selection::Ambiguous { exists: exists(config) },
        // Only disabled ones: serving every server instead would show what was switched off.
        (None, _, Some(disabled)) => unknown(config, &disabled.id, true),
        (None, _, None) => Selection::All,
    }
}

fn named(config: &Config, requested: &str, how: How) -> Selection {
    match find(config, requested) {
        Some(namespace) if namespace.enabled => Selection::Namespace { id: namespace.id.clone(), how },
        found => unknown(config, requested, found.is_some()),
    }
}

/// Returns the namespace with that id, else the only one with that name.
fn find<'a>(config: &'a Config, requested: &str) -> Option<&'a Namespace> {
    let by_id = config.namespaces.iter().find(|namespace| namespace.id == requested);
    by_id.or_else(|| {
        let mut by_name = config.namespaces.iter().filter(|namespace| namespace.name == requested);
        by_name.next().filter(|_| by_name.next().is_none())
    })
}

fn unknown(config: &Config, requested: &str, disabled: bool) -> Selection {
    Selection::Unknown {
        requested: requested.to_owned(),
        exists: exists(config),
        disabled,
        fatal: config.source.format == Format::Schemas,
    }
}

fn exists(config: &Config) -> Vec<String> {
    config
        .namespaces
        .iter()
        .filter(|namespace| namespace.enabled)
        .map(|namespace| namespace.id.clone())
        .collect()
}
