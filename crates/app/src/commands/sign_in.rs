//! `login` and `logout`: the one who runs them signs in, and all gateways of this user have it.

mod login;
mod logout;
mod probe;

use std::process::ExitCode;
use std::sync::Arc;

use manifold_config::{Config, Server, Sharing, Transport, load};
use manifold_oauth::StoreError;

use super::noted::noted;
use super::verb::Verb;
use crate::cli::SignInCommand;
use crate::login::Failed;
use crate::output::{Exit, Failure, Suggestion};

pub(super) fn run(command: &SignInCommand, verb: Verb) -> ExitCode {
    verb.run(|verb| match command {
        SignInCommand::Login(args) => {
            let target = target(&args.server, args.account.as_deref());
            noted(verb, "login", Some(&target), || login::run(args, verb))
        }
        SignInCommand::Logout(args) => {
            let target = target(&args.server, args.account.as_deref());
            noted(verb, "logout", Some(&target), || logout::run(args, verb))
        }
    })
}

/// Returns what is written down of whom a command is about.
fn target(server: &str, account: Option<&str>) -> String {
    account.map_or_else(|| server.to_owned(), |account| format!("{server} as {account}"))
}

/// One server of the config, and the config with nothing else in it.
struct Meant {
    server: Arc<Server>,
    config: Config,
}

impl Meant {
    /// Finds a server that one can sign in to, by its id, `schema/id`, or the id its tools are prefixed with.
    fn find(name: &str, account: Option<&str>, verb: &Verb) -> Result<Self, Failure> {
        let mut config = load(verb.options).map_err(|error| Failure::config(error.to_string()))?;
        let shown = |server: &Server| match &server.key.schema {
            Some(schema) => format!("{schema}/{}", server.key.id),
            None => server.key.id.clone(),
        };
        let by_key = config.servers.iter().position(|server| shown(server) == name);
        let by_id = || config.servers.iter().position(|server| server.key.id == name);
        let by_prefix = || config.servers.iter().position(|server| server.exposed_id == name);
        let Some(at) = by_key.or_else(by_id).or_else(by_prefix) else {
            let names: Vec<String> = config.servers.iter().map(shown).collect();
            let hint = Suggestion::among(names.iter().map(String::as_str), name);
            return Err(Failure::new(
                Exit::Unknown,
                "unknown-server",
                format!("there is no server '{name}'"),
            )
            .hint(hint.or("`manifold list` shows those there are")));
        };
        let mut server = config.servers.swap_remove(at);
        if let Some(fault) = &server.fault {
            return Err(Failure::config(format!("server '{name}' cannot be used: {}", fault.message())));
        }
        if let (Some(account), Transport::Remote(spec)) = (account, &mut server.transport)
            && let Some(sign_in) = &mut spec.sign_in
        {
            sign_in.account = account.to_owned();
        }
        // Whoever is about to use it signs in first, and shares it with nobody here.
        server.enabled = true;
        server.shared = Sharing::Default;
        config.servers = vec![server.clone()];
        config.namespaces.clear();
        config.default_namespace = None;
        Ok(Self { server: Arc::new(server), config })
    }

    fn name(&self) -> &str {
        &self.server.key.id
    }
}

/// Returns how a command ends for this.
fn failure(failed: Failed, server: &str) -> Failure {
    let message = match &failed {
        Failed::NotSignedInTo => {
            return Failure::usage(format!("nobody signs in to server '{server}'"))
                .hint("it is not remote, has a header `Authorization` in the config, or `\"oauth\": false`");
        }
        Failed::Store(error) => return store_failure(error),
        Failed::Login(manifold_oauth::LoginError::Expired) => {
            return Failure::new(
                Exit::TimedOut,
                "timed-out",
                format!("nobody signed in to '{server}' in time"),
            );
        }
        Failed::Login(_) | Failed::Callback(_) | Failed::AskedAlready => {
            format!("not signed in to '{server}': {failed}")
        }
    };
    Failure { server: Some(server.to_owned()), ..Failure::new(Exit::Failed, "sign-in-refused", message) }
}

fn store_failure(error: &StoreError) -> Failure {
    let message = format!("the sign-in could not be kept: {error}");
    Failure::new(Exit::Failed, "store", message).hint("`manifold doctor` says more")
}
