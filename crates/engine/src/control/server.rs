//! One server in the operator's words: what the config says of it, and how it is doing.

use manifold_admin as admin;
use manifold_config::{Config, Server, Sharing, Transport};
use manifold_protocol::Kind;
use tokio::time::Instant;

use super::words::{self, millis};
use crate::catalog::Catalog;
use crate::upstream::{InstanceReport, Item, Listing, Phase, Upstream};

/// Returns a server of which nothing runs.
pub(super) fn configured(config: &Config, server: &Server) -> admin::Server {
    let (env, headers) = match &server.transport {
        Transport::Process(process) => (process.env.keys().cloned().collect(), Vec::new()),
        Transport::Remote(remote) => {
            (Vec::new(), remote.headers.iter().map(|(name, _)| name.clone()).collect())
        }
        Transport::Builtin(_) => (Vec::new(), Vec::new()),
    };
    admin::Server {
        key: words::server_id(&server.key),
        name: server.display_name.clone(),
        exposed_id: server.exposed_id.clone(),
        kind: words::kind(&server.transport),
        target: words::target(&server.transport),
        enabled: server.enabled,
        start: words::start(server.start),
        sharing: match server.shared {
            Sharing::PerClient => admin::Sharing::PerClient,
            Sharing::Default | Sharing::Everybody | Sharing::PerProject => admin::Sharing::Shared,
        },
        env,
        headers,
        state: match &server.fault {
            _ if !server.enabled => admin::State::Disabled,
            Some(_) => admin::State::Failed,
            None => admin::State::Idle,
        },
        fault: server.fault.as_ref().map(words::fault),
        problems: config.problems_of(&server.key).map(words::problem).collect(),
        ..admin::Server::default()
    }
}

/// Returns a server as it is now. One that stands in line for its start is as good as started (D3).
pub(super) fn live(
    config: &Config,
    server: &Server,
    upstream: &dyn Upstream,
    lists: Option<admin::Lists>,
    is_in_line: impl FnOnce() -> bool,
) -> admin::Server {
    let status = upstream.status();
    let ago = status.since.elapsed();
    let unresponsive = status.phase == Phase::Ready && upstream.is_unresponsive();
    let sign_in = upstream.sign_in();
    let is_shut = sign_in.as_ref().is_some_and(|sign_in| sign_in.is_in_the_way && sign_in.needs_login);
    admin::Server {
        state: match words::state(&status.phase) {
            admin::State::Stopped if !server.enabled => admin::State::Disabled,
            // It was reached, and answers nothing before somebody signs in.
            admin::State::Ready | admin::State::Idle if is_shut => admin::State::NeedsLogin,
            admin::State::Idle if is_in_line() => admin::State::Starting,
            state => state,
        },
        unresponsive,
        since_ms: Some(millis(ago)),
        pid: status.pid,
        error: if unresponsive { Some(words::unresponsive()) } else { words::error_in(&status.phase, ago) },
        lists,
        saved: upstream.listing().and_then(|listing| saved(&listing)),
        instances: upstream.reports().into_iter().map(instance).collect(),
        sign_in: sign_in.map(words::sign_in),
        ..configured(config, server)
    }
}

/// Returns how long the definitions of a server's tools are together.
pub(super) fn tool_bytes(listing: &Listing) -> usize {
    listing.tools.iter().map(|tool| tool.raw.as_bytes().len()).sum()
}

/// Returns the calls of all instances together, as far as they are counted.
pub(super) fn calls<'r>(reports: impl Iterator<Item = &'r InstanceReport>) -> Option<admin::Calls> {
    let all = reports.filter_map(|report| report.calls.clone()).reduce(|mut all, more| {
        all.add(&more);
        all
    });
    all.as_ref().map(words::calls)
}

/// Counts all that a server offers.
pub(super) fn all_of(listing: &Listing) -> admin::Lists {
    admin::Lists {
        tools: listing.tools.len(),
        prompts: listing.prompts.len(),
        resources: listing.resources.len(),
        templates: listing.templates.len(),
    }
}

/// Counts what a namespace shows of a member's offer.
pub(super) fn shown_of(catalog: &Catalog, member: usize, listing: &Listing) -> admin::Lists {
    let count = |kind: Kind| {
        let permitted = |item: &&Item| catalog.permits(member, kind, &item.label);
        listing.items(kind).iter().filter(permitted).count()
    };
    admin::Lists {
        tools: count(Kind::Tools),
        prompts: count(Kind::Prompts),
        resources: count(Kind::Resources),
        templates: count(Kind::Templates),
    }
}

/// Says that a listing is not of this run.
fn saved(listing: &Listing) -> Option<admin::Saved> {
    let age = listing.saved_age()?;
    Some(admin::Saved {
        tools: Some(listing.tools.len()),
        age_ms: Some(millis(age)),
        ..admin::Saved::default()
    })
}

pub(super) fn instance(report: InstanceReport) -> admin::Instance {
    let InstanceReport { client, status, is_unresponsive, history, calls } = report;
    let ago = status.since.elapsed();
    let unresponsive = status.phase == Phase::Ready && is_unresponsive;
    let now = Instant::now();
    admin::Instance {
        key: None,
        client: client.map(|client| client.0),
        state: words::state(&status.phase),
        unresponsive,
        since_ms: millis(ago),
        pid: status.pid,
        protocol: history.revision.map(admin::Protocol::of),
        restarts: history.lives.map(|lives| lives.saturating_sub(1)),
        failures: history.failures,
        retry_in_ms: history.retry_at.map(|at| millis(at.saturating_duration_since(now))),
        error: if unresponsive { Some(words::unresponsive()) } else { words::error_in(&status.phase, ago) },
        last_error: history.last_fault.map(|(fault, at)| words::error(&fault, at.elapsed())),
        calls: calls.as_ref().map(words::calls),
        ..admin::Instance::default()
    }
}
