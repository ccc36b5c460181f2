//! `/health` and `/api/status`: S2's shapes in every profile (decision 34), from what is known without asking anyone.
//! `/livez` and `/readyz`: a word for balancers.

use std::sync::Arc;

use hyper::{Method, Response, StatusCode};
use manifold_admin::{self as admin, State};
use manifold_engine::{Access, Gateway, Grants, Outdated, Requester, Wish};
use manifold_protocol::{Raw, RawObject};
use serde::Serialize;

use super::answers::{json, word};
use super::body::Body;
use super::namespaces::Served;
use super::site::Site;

/// Returns that the gateway is up, and since when (S2-2).
pub(super) fn health(site: &Site) -> Response<Body> {
    let mut body = RawObject::default();
    body.set("status", Raw::from_static(r#""ok""#));
    body.set(
        "timestamp",
        Raw::string(&jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()),
    );
    let millis = site.started.elapsed().as_millis() as f64;
    body.set("uptime", Raw::serialize(&(millis / 1000.0)));
    json(StatusCode::OK, body.into_raw().bytes())
}

/// Answers a balancer, which has no token and calls us what it likes: `/livez` says that we are there, `/readyz` whether
/// work may be sent.
pub(super) fn probe(method: &Method, path: &str, site: &Site) -> Option<Response<Body>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    match path {
        "/livez" => Some(word(StatusCode::OK, "live")),
        "/readyz" => {
            let served = site.namespaces.served();
            let gateways = || served.namespaces.values().chain(&served.default);
            // Every one is asked, so that all begin to learn what they lack.
            let settled = || gateways().filter(|gateway| !gateway.is_settled()).count() == 0;
            let fitness = site.health.fitness(settled);
            let status = if fitness.is_fit() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            Some(word(status, fitness.as_str()))
        }
        _ => None,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Schema {
    status: &'static str,
    mcp_servers: Vec<Server>,
    total_tools: usize,
    connected_servers: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    id: String,
    name: String,
    status: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    tool_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// How one is signed in to it; none where nobody was asked to.
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in: Option<admin::SignIn>,
    /// What is wrong with it in the config.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

/// What is wrong with the config beside its servers (D6).
#[derive(Serialize)]
struct ConfigPart<'a> {
    /// Why the one in force is older than the file.
    #[serde(flatten)]
    outdated: Option<&'a Outdated>,
    problems: Vec<String>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Summary {
    total_schemas: usize,
    active_schemas: usize,
    total_servers: usize,
    connected_servers: usize,
    failed_servers: usize,
    total_tools: usize,
}

/// Returns every namespace with the state of its servers, asking none of them (S2-3 to S2-5).
pub(super) fn status(site: &Site, who: &Requester) -> Response<Body> {
    let mut schemas = RawObject::default();
    let mut summary = Summary::default();
    let plan = site.namespaces.served();
    let mut names: Vec<&String> = plan.namespaces.keys().collect();
    names.sort_unstable();
    for name in names {
        let gateway = plan.namespaces.get(name);
        let is_open = |gateway: &&Arc<Gateway>| gateway.access(who, Wish::Enter) == Access::Granted;
        let Some(gateway) = gateway.filter(is_open) else { continue };
        let servers: Vec<Server> = gateway.servers_for(who).into_iter().map(server).collect();
        let schema = Schema {
            status: "active",
            total_tools: servers.iter().map(|server| server.tool_count).sum(),
            connected_servers: servers.iter().filter(|server| server.status == "connected").count(),
            mcp_servers: servers,
        };
        summary.total_schemas += 1;
        summary.active_schemas += 1;
        summary.total_servers += schema.mcp_servers.len();
        summary.connected_servers += schema.connected_servers;
        summary.failed_servers += schema.mcp_servers.iter().filter(|server| server.status == "error").count();
        summary.total_tools += schema.total_tools;
        schemas.set(name, Raw::serialize(&schema));
    }
    let grants = who.grants();
    let may_enter = |id: &str| {
        let access = |grants: &Arc<Grants>| grants.access(Some(id), Wish::Enter);
        grants.as_ref().is_none_or(|grants| access(grants) == Access::Granted)
    };
    let disabled = plan.config.namespaces.iter().filter(|namespace| !namespace.enabled);
    for namespace in disabled.filter(|namespace| may_enter(&namespace.id)) {
        summary.total_schemas += 1;
        let schema =
            Schema { status: "inactive", mcp_servers: Vec::new(), total_tools: 0, connected_servers: 0 };
        schemas.set(&namespace.id, Raw::serialize(&schema));
    }
    let mut body = RawObject::default();
    body.set("server", server_part(site));
    body.set("schemas", schemas.into_raw());
    body.set("summary", Raw::serialize(&summary));
    // It is about all of them.
    let sees_all = grants.is_none_or(|grants| grants.is_everything());
    if let Some(config) = config_part(&plan).filter(|_| sees_all) {
        body.set("config", config);
    }
    json(StatusCode::OK, body.into_raw().bytes())
}

/// Returns nothing where nothing is wrong: so the seed's clients have it.
fn config_part(plan: &Served) -> Option<Raw> {
    // All of them serve the one config.
    let outdated = plan.default.iter().chain(plan.namespaces.values()).find_map(|gateway| gateway.outdated());
    let problems: Vec<String> = plan.config.problems_beside_servers().map(ToString::to_string).collect();
    let is_fine = outdated.is_none() && problems.is_empty();
    (!is_fine).then(|| Raw::serialize(&ConfigPart { outdated: outdated.as_deref(), problems }))
}

fn server_part(site: &Site) -> Raw {
    let seconds = site.started.elapsed().as_secs();
    let uptime = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut server = RawObject::default();
    server.set("status", Raw::from_static(r#""running""#));
    server.set("port", Raw::number(u64::from(site.port)));
    server.set("url", Raw::string(&site.url));
    server.set("uptime", Raw::string(&uptime));
    server.into_raw()
}

fn server(server: admin::Server) -> Server {
    let status = match server.state {
        _ if server.unresponsive => "error",
        State::Ready => "connected",
        State::Starting => "connecting",
        State::Failed | State::NeedsLogin => "error",
        State::Idle | State::Stopped | State::Disabled | State::Other => "disconnected",
    };
    Server {
        id: server.key.id,
        name: server.name,
        status,
        kind: server.kind.as_str(),
        tool_count: server.lists.map_or(0, |lists| lists.tools),
        error: server.error.map(admin::Error::told),
        sign_in: server.sign_in.filter(|sign_in| sign_in.state != "unknown"),
        problems: server.problems.into_iter().map(|problem| problem.to_string()).collect(),
    }
}
