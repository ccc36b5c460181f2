//! The program itself: whether it is a daemon, orders to it, and what was done to it.

use hyper::StatusCode;
use manifold_admin::{Command, CommandError, ErrorCode, Outcome};
use serde_json::json as object;

use super::answer::{Answer, bytes, json};
use super::request::Asked;
use super::{DaemonOrder, Office};

/// How many lines of the audit are answered where nobody says.
const LINES: usize = 100;

pub(super) fn status(office: &Office) -> Result<Answer, CommandError> {
    let no_daemon = || CommandError::new(ErrorCode::Unsupported, "this gateway is no daemon");
    let status = office.program.daemon_status().ok_or_else(no_daemon)?;
    Ok(bytes(StatusCode::OK, format!("{}\n", status.get()).into()))
}

/// Reads the config file anew.
pub(super) async fn reload(office: &Office) -> Result<Answer, CommandError> {
    match office.control.execute(Command::Reload).await? {
        Outcome::Reloaded { report } => Ok(json(&report)),
        outcome => Ok(json(&outcome)),
    }
}

/// Returns whether the program may be gone before an answer is.
pub(super) fn ends_it(path: &str) -> bool {
    matches!(path, "/v1/daemon/stop" | "/v1/daemon/restart" | "/v1/daemon/upgrade")
}

/// Ends, restarts or replaces the program. Answered when its servers are gone; by one that is replaced not at all.
pub(super) async fn order(office: &Office, path: &str) -> Result<Answer, CommandError> {
    let (order, change) = match path.rsplit('/').next().unwrap_or_default() {
        "stop" => (DaemonOrder::Stop, "stopping"),
        "restart" => (DaemonOrder::Restart, "restarting"),
        _ => (DaemonOrder::Upgrade, "upgrading"),
    };
    let pid = office.program.about().pid;
    office.control.publish_daemon(change);
    office.program.daemon(order).await?;
    Ok(json(&object!({ "pid": pid })))
}

/// Returns the last lines of the audit.
pub(super) fn audited(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let lines = asked.query.number("lines")?.unwrap_or(LINES);
    office.program.audited(lines).map(|lines| json(&lines))
}
