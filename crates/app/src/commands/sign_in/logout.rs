//! `logout SERVER`: tokens are revoked where that can be done, and gone here in any case.

use manifold_admin::LogoutReport;
use manifold_engine::Tasks;
use manifold_oauth::{Revoked, logout};

use super::{Meant, failure, store_failure};
use crate::cli::LogoutArgs;
use crate::commands::runtime;
use crate::commands::verb::Verb;
use crate::login::Failed;
use crate::output::{Exit, Failure};
use crate::wiring::sign_ins;

pub(super) fn run(args: &LogoutArgs, verb: &Verb) -> Result<Exit, Failure> {
    let meant = Meant::find(&args.server, args.account.as_deref(), verb)?;
    let runtime = runtime(1).map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))?;
    let name = meant.name();
    let done = runtime.block_on(async {
        let none = || failure(Failed::NotSignedInTo, name);
        let sign_ins = sign_ins(verb.options, &Tasks::new()).ok_or_else(none)?;
        let context = sign_ins.context(&meant.server).ok_or_else(none)?;
        logout(&context, &**sign_ins.store(), args.forget_client).await.map_err(|error| store_failure(&error))
    })?;
    let (revoked, why) = match &done.revoked {
        Revoked::Yes | Revoked::RefreshOnly => (true, None),
        Revoked::Nothing => (false, None),
        Revoked::NotOffered => (false, Some("its issuer has no way to revoke tokens".to_owned())),
        Revoked::Failed(why) => (false, Some(why.clone())),
    };
    let report = LogoutReport {
        server: name.to_owned(),
        was_signed_in: done.was_signed_in,
        revoked,
        access_token_good: done.revoked == Revoked::RefreshOnly,
        why: why.clone().filter(|_| done.was_signed_in),
        client_deleted: done.client_deleted,
    };
    let output = &verb.output;
    if output.is_json() {
        output.json(&report);
        return Ok(Exit::Ok);
    }
    match (done.was_signed_in, revoked) {
        (false, _) => _ = output.line(&format!("nobody was signed in to '{name}'")),
        (true, true) if report.access_token_good => {
            _ = output.line(&format!("signed out of '{name}'; its refresh token is revoked"));
            output
                .remark("the access token is good until it expires: its issuer revokes refresh tokens only");
        }
        (true, true) => _ = output.line(&format!("signed out of '{name}'; its tokens are revoked")),
        (true, false) => _ = output.line(&format!("signed out of '{name}' on this machine")),
    }
    if let Some(why) = report.why {
        output.remark(&format!("the tokens were not revoked, and are good until they expire: {why}"));
    }
    match report.client_deleted {
        Some(true) => output.remark("what we were registered as there is deleted"),
        Some(false) => output.remark("what we were registered as there could not be deleted"),
        None => {}
    }
    Ok(Exit::Ok)
}
