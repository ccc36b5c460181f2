//! How one is signed in where nothing runs that could be asked: told from the store alone, without a word to anybody.

use manifold_admin::{SignIn, Snapshot};
use manifold_config::{Config, LoadOptions};
use manifold_engine::{Tasks, shown_sign_in};
use tokio::runtime::Builder;

use crate::wiring::sign_ins;

/// Adds it to what the files say.
pub(crate) fn signed_in(snapshot: &mut Snapshot, config: &Config, options: &LoadOptions) {
    let is_remote = |server: &manifold_config::Server| super::settings_of(server).is_some();
    if !config.servers.iter().any(is_remote) {
        return;
    }
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let Some(sign_ins) = sign_ins(options, &Tasks::new()) else { return };
        for (shown, server) in snapshot.servers.iter_mut().zip(&config.servers) {
            shown.sign_in = sign_ins.report(server).await.map(shown_sign_in);
        }
    });
}

/// Says it in a line.
pub(crate) fn line(sign_in: &SignIn) -> String {
    let mut said = sign_in.state.clone();
    let mut add = |what: String| said.push_str(&what);
    if let Some(detail) = &sign_in.detail {
        add(format!(" ({detail})"));
    }
    if let Some(issuer) = &sign_in.issuer {
        add(format!(", at {issuer}"));
    }
    if sign_in.account != manifold_config::DEFAULT_ACCOUNT {
        add(format!(", as {}", sign_in.account));
    }
    if !sign_in.scopes.is_empty() {
        add(format!(", for {}", sign_in.scopes.join(" ")));
    }
    if let Some(until) = &sign_in.until {
        add(format!(", until {until}"));
    }
    if let Some(store) = &sign_in.store {
        add(format!(", stored: {store}"));
    }
    said
}
