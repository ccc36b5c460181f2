//! Tools, resources and prompts, as the clients of a namespace see them.

use std::time::Duration;

use manifold_admin::CommandError;
use manifold_engine::ItemQuery;
use manifold_protocol::Kind;

use super::answer::{Answer, json};
use super::peer::{Peer, Scope};
use super::request::{Asked, bad};
use super::{Office, access, ask};

/// How many are answered where nobody says, and at most.
const LIMIT: usize = 1000;
const MAX_LIMIT: usize = 10_000;

pub(super) async fn page(
    office: &Office,
    peer: &Peer,
    asked: &Asked,
    path: &str,
) -> Result<Answer, CommandError> {
    let query = &asked.query;
    let kind = match (path, query.get("kind")) {
        ("/v1/tools", _) => Kind::Tools,
        ("/v1/prompts", _) => Kind::Prompts,
        (_, None | Some("resources")) => Kind::Resources,
        (_, Some("templates")) => Kind::Templates,
        (_, Some(other)) => {
            return Err(bad(&format!("`kind` must be `resources` or `templates`, not `{other}`")));
        }
    };
    let environment = asked.environment()?;
    access::check_environment(peer, environment.as_ref())?;
    let gateway = office.program.open(query.get("namespace"), environment)?;
    ask::introduce(&gateway);
    let _hold = office.program.hold();
    let wanted = ItemQuery {
        server: query.get("server").map(str::to_owned),
        name: query.get("name").map(str::to_owned),
        patience: query
            .number("timeoutMs")?
            .map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX))),
        q: query.get("q").map(str::to_owned),
        cursor: query.get("cursor").map(str::to_owned),
        limit: Some(query.number("limit")?.unwrap_or(LIMIT).clamp(1, MAX_LIMIT)),
        full: query.is_set("full"),
        // Who only looks starts nothing.
        known_only: peer.scope < Scope::Act,
    };
    gateway.items(kind, &wanted).await.map(|page| json(&page))
}
