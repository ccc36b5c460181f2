//! What runs: does it answer, is it of this version, has it this config, is its port its own?

use std::net::TcpListener;

use manifold_config::{Config, Profile};

use super::context::Context;
use super::{Outcome, Trouble};

pub(super) fn answers(context: &Context<'_>) -> Outcome {
    match context.running() {
        Ok(Some(source)) => Outcome::WellAs(format!("{} answers", source.which())),
        Ok(None) => Outcome::WellAs("nothing runs for this config".to_owned()),
        Err(failure) => Some(Trouble::fail(&failure.message, "manifold daemon restart")).into(),
    }
}

pub(super) fn version(context: &Context<'_>) -> Outcome {
    let own = env!("CARGO_PKG_VERSION");
    let other = context.about().filter(|about| about.version != own);
    let told = other.map(|about| {
        let message = format!("what runs is of version {}, and this is {own}", about.version);
        Trouble::warn(message, "manifold daemon upgrade")
    });
    told.into()
}

pub(super) fn upgrade(context: &Context<'_>) -> Outcome {
    let refused = context.about().and_then(|about| about.not_upgraded.as_ref());
    let told = refused.map(|refused| {
        let message = format!("what is installed was not taken over: {}", refused.why);
        Trouble::warn(message, "manifold daemon upgrade")
    });
    told.into()
}

/// Where the file itself cannot be used, that is told already.
pub(super) fn config(context: &Context<'_>) -> Outcome {
    let why = context.about().and_then(|about| about.refused.as_ref().or(about.unread.as_ref()));
    let told = why.filter(|_| context.config.is_ok()).map(|why| {
        Trouble::fail(format!("what runs has not taken the config over: {why}"), "manifold daemon reload")
    });
    told.into()
}

/// Only a port that somebody has asked for is worth a word.
pub(super) fn port(context: &Context<'_>) -> Outcome {
    let Some(config) = context.config.as_ref().ok().filter(|config| is_wanted(config)) else {
        return Outcome::WellAs("no port for HTTP is asked for".to_owned());
    };
    let http = &config.settings.http;
    let place = format!("{}:{}", http.host, http.port);
    let is_ours = context.about().is_some_and(|about| {
        about.listeners.iter().any(|listener| {
            listener.address.as_ref().is_some_and(|address| address.contains(&format!(":{}", http.port)))
        })
    });
    if is_ours {
        return Outcome::WellAs(format!("{place} is served"));
    }
    let taken = TcpListener::bind((http.host.as_str(), http.port)).err().map(|error| {
        let message = format!("{place}, for HTTP, cannot be had: {error}");
        Trouble::fail(message, format!("ss -ltnp 'sport = :{}'", http.port))
    });
    taken.into()
}

fn is_wanted(config: &Config) -> bool {
    const USUAL: u16 = 3095;
    config.settings.daemon.http || config.settings.http.port != USUAL || config.profile != Profile::Manifold
}
