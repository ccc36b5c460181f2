//! `open`: asks the daemon, or the gateway over HTTP that runs, for a page, and shows it in the browser.

use std::time::Duration;

use manifold_admin::{Method, PageScope, WebGrant, WebOpened, WebSession};

use super::source::failure;
use super::verb::Verb;
use super::{daemon, tui};
use crate::browser;
use crate::cli::OpenArgs;
use crate::operator::{self, Operator};
use crate::output::{Exit, Failure};

/// A gateway that is well has opened a port by then.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(args: &OpenArgs, verb: &Verb) -> Result<Exit, Failure> {
    let wanted = wanted(args, verb)?;
    let operator = reach(verb)?;
    verb.output.detail(&format!("asked {}", operator.which()));
    let client = operator
        .client(PATIENCE)
        .map_err(|error| Failure::new(Exit::Failed, "unreachable", error.to_string()))?;
    let WebGrant { url, code, scope, expires_in_ms } =
        client.send(Method::Post, "/v1/web/session", Some(&wanted))?;
    // What stands behind `#` is not sent to anybody, and written into no log.
    let url = format!("{url}#code={code}");
    let opened = match args.print {
        true => Err(String::new()),
        false => browser::open(&url, &verb.options.environment),
    };
    if verb.output.is_json() {
        let answered_by = operator.about().kind.as_str().to_owned();
        verb.output.json(&WebOpened { url, scope, expires_in_ms, opened: opened.is_ok(), answered_by });
        return Ok(Exit::Ok);
    }
    match opened {
        Ok(()) => verb.output.remark("the dashboard opens in your browser"),
        Err(why) => {
            if !args.print {
                verb.output.remark(&format!("{why}; open this address within a minute:"));
            }
            verb.output.text(&format!("{url}\n"));
        }
    }
    Ok(Exit::Ok)
}

fn wanted(args: &OpenArgs, verb: &Verb) -> Result<WebSession, Failure> {
    let scope = match (args.act, args.edit) {
        (_, true) => PageScope::Edit,
        (true, _) => PageScope::Act,
        (false, false) => PageScope::View,
    };
    let dev = args.dev.as_ref().map(|folder| verb.options.environment.cwd.join(folder));
    if let Some(folder) = dev.as_ref().filter(|folder| !folder.join("index.html").is_file()) {
        let failure = Failure::usage(format!("`{}` has no index.html", folder.display()));
        return Err(failure.hint("name the folder that the page was built into"));
    }
    Ok(WebSession { scope, dev: dev.map(|folder| folder.to_string_lossy().into_owned()) })
}

/// Finds who shows the page: the daemon, which is started where there is to be one, or else a gateway over HTTP. One that
/// ends with this command would be gone before the page is there.
fn reach(verb: &Verb) -> Result<Operator, Failure> {
    let (options, flags) = (verb.options, verb.flags);
    let running = |need| Operator::reach(options, flags, options.program_profile, need);
    if tui::wants_daemon(verb, options) && running(operator::Need::Running).is_err() {
        daemon::ensure(options).map_err(|why| Failure::new(Exit::NotRunning, "not-running", why))?;
    }
    running(operator::Need::Running).map_err(|why| failure(&why))
}
