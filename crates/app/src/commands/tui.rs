//! `tui`: the terminal face of the daemon, or of a gateway that ends with it.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use manifold_admin::AskerEnvironment;
use manifold_admin_client::Client;
use manifold_config::{Environment, LoadOptions, Profile, load};
use manifold_tui::{End, Gateway, Look, Options, Signals};

use super::source::failure;
use super::verb::Verb;
use super::{attach, daemon};
use crate::cli::TuiArgs;
use crate::daemon::is_below_another;
use crate::operator::{Need, Operator};
use crate::output::{Exit, Failure};

pub(super) fn run(args: TuiArgs, verb: &Verb) -> ExitCode {
    match shown(args, verb) {
        Ok(End::Quit) => ExitCode::SUCCESS,
        Ok(End::Signal(number)) => ExitCode::from(u8::try_from(128 + number).unwrap_or(1)),
        Err(failure) => verb.output.fail(&failure),
    }
}

fn shown(args: TuiArgs, verb: &Verb) -> Result<End, Failure> {
    let environment = &verb.options.environment;
    let is_dumb = environment.vars.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if is_dumb || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let failure = Failure::usage("`tui` needs a terminal".to_owned());
        return Err(failure.hint("`manifold status` and `manifold list` write to pipes"));
    }
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidInput => Failure::config(error.to_string()),
        _ => Failure::new(Exit::Failed, "failed", format!("the terminal cannot be used: {error}")),
    };
    // Before there is a gateway of our own, whose threads must leave signals alone.
    let signals = Signals::block().map_err(failed)?;
    let (operator, remark) = reach(verb)?;
    let gateway: Arc<dyn Gateway> = Arc::new(Reached(operator));
    let config = load(verb.options).ok();
    let options = Options {
        read_only: args.read_only,
        look: look(verb, environment),
        keys: config.map(|config| config.settings.tui_keys).unwrap_or_default(),
        editor: editor(environment),
        environment: environment.vars.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        namespace: verb.flags.namespace.clone(),
        remark,
    };
    manifold_tui::run(&gateway, options, signals).map_err(failed)
}

/// Finds the gateway: the daemon, which is started where there is to be one, or one of our own. Returns with it what is to
/// be said about that.
fn reach(verb: &Verb) -> Result<(Operator, Option<String>), Failure> {
    let (options, flags) = (verb.options, verb.flags);
    if flags.alone {
        return Ok((Operator::alone(options, flags).map_err(|why| failure(&why))?, None));
    }
    let remark = match wants_daemon(verb, options) {
        true => daemon::ensure(options).err().map(|why| format!("there is no daemon: {why}")),
        false => None,
    };
    let operator = Operator::reach(options, flags, options.program_profile, Need::Servers);
    Ok((operator.map_err(|why| failure(&why))?, remark))
}

/// Returns whether there is to be a daemon for this config.
pub(super) fn wants_daemon(verb: &Verb, options: &LoadOptions) -> bool {
    let wish = attach::wish(&options.environment);
    let is_ours = verb.flags.known_profile(options.program_profile) == Profile::Manifold;
    // A config that cannot be read is the daemon's to complain about.
    let is_configured = || match load(options) {
        Ok(config) => {
            config.profile == Profile::Manifold && (config.settings.daemon.enabled || wish == Some(true))
        }
        Err(_) => true,
    };
    is_ours && wish != Some(false) && !is_below_another(&options.environment) && is_configured()
}

/// Returns what the terminal can show, by the variables that terminals go by.
fn look(verb: &Verb, environment: &Environment) -> Look {
    let variable = |name: &str| environment.vars.get(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
    let is_utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    let is_console = variable("TERM").is_some_and(|term| term == "linux");
    Look { without_color: !verb.output.has_colors(), ascii: is_console || !is_utf8 }
}

/// Returns the user's editor and its arguments.
pub(super) fn editor(environment: &Environment) -> Vec<String> {
    let variable = |name: &str| environment.vars.get(name).filter(|value| !value.trim().is_empty());
    let named = variable("VISUAL").or_else(|| variable("EDITOR")).map_or("vi", String::as_str);
    named.split_whitespace().map(str::to_owned).collect()
}

struct Reached(Operator);

impl Gateway for Reached {
    fn client(&self, patience: Duration) -> io::Result<Client> {
        self.0.client(patience)
    }

    fn asks_with(&self) -> Option<AskerEnvironment> {
        self.0.asks_with()
    }
}
