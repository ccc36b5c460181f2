//! What runs takes over a changed secret: its servers are started anew.

use manifold_admin::ReloadReport;

use crate::commands::source::{Need, Source};
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure};

/// Has the gateway of this config read it anew; returns the servers it has started anew for that. Where that fails the
/// secret is stored all the same, so it is said and no more.
pub(super) fn running(verb: &Verb) -> Option<Vec<String>> {
    match ask(verb) {
        Ok(report) => Some(report.restarted.iter().map(ToString::to_string).collect()),
        Err(failure) if failure.exit == Exit::NotRunning => None,
        Err(failure) => {
            let why = failure.message;
            verb.output
                .remark(&format!("what runs has not taken it over: {why}; run `manifold daemon reload`"));
            None
        }
    }
}

fn ask(verb: &Verb) -> Result<ReloadReport, Failure> {
    let source = Source::find(verb.options, verb.flags, Need::Running)?;
    verb.output.detail(&format!("asked {} to read its config anew", source.which()));
    Ok(source.client()?.post("/v1/daemon/reload")?)
}
