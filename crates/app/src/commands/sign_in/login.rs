//! `login SERVER`: finds out where one signs in, shows it, waits for the browser or for what is pasted, keeps what comes of
//! it and connects once.

use std::cell::RefCell;
use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;

use jiff::Timestamp;
use manifold_admin::LoginReport;
use manifold_config::GrantSetting;
use manifold_oauth::{Credential, DeviceLogin, LoginError, Url, login};
use manifold_upstreams::SignIns;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::probe::{Probe, Said};
use super::{Meant, failure};
use crate::browser;
use crate::cli::LoginArgs;
use crate::commands::runtime;
use crate::commands::verb::Verb;
use crate::login::{
    Failed, Open, Pasted, Wanted, begin, keep, pasted, prepare, settings_of, signed_in_elsewhere,
};
use crate::logins;
use crate::output::{Exit, Failure, counted, escaped_line};
use crate::secrets;

pub(super) fn run(args: &LoginArgs, verb: &Verb) -> Result<Exit, Failure> {
    let meant = Meant::find(&args.server, args.account.as_deref(), verb)?;
    verb.end_on_interrupt()?;
    let runtime = runtime(1).map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))?;
    runtime.block_on(async {
        let server = Arc::clone(&meant.server);
        let probe = Probe::new(meant.config.clone(), verb.options, verb.flags);
        let done =
            Login { args, verb, meant: &meant, probe: &probe, refused: RefCell::default() }.run().await;
        probe.close().await;
        done.map_err(|failed| Failure { server: Some(server.key.id.clone()), ..failed })
    })
}

struct Login<'a> {
    args: &'a LoginArgs,
    verb: &'a Verb<'a>,
    meant: &'a Meant,
    probe: &'a Probe,
    /// Why callbacks were refused, the last at the end; each is told once.
    refused: RefCell<Vec<String>>,
}

impl Login<'_> {
    async fn run(&self) -> Result<Exit, Failure> {
        let Some(sign_ins) = self.probe.services().sign_ins.clone() else {
            return Err(
                Failure::usage("there is no home directory to keep the sign-in in").hint("set XDG_DATA_HOME")
            );
        };
        let settings = settings_of(&self.meant.server);
        let Some(settings) = settings.filter(|_| sign_ins.of(&self.meant.server).is_some()) else {
            return Err(failure(Failed::NotSignedInTo, self.meant.name()));
        };
        // Before anybody is troubled: whether it can be kept, and how the server says to sign in.
        self.prepare_store()?;
        let before = self.probe.ask().await;
        let wanted =
            Wanted { server: Arc::clone(&self.meant.server), scopes: self.scopes(), without_document: false };
        let grant = if self.args.device { GrantSetting::Device } else { settings.grant };
        let signed_in = async {
            match grant {
                GrantSetting::Code => match self.by_browser(&sign_ins, &wanted).await {
                    // Some take no document, or not with this port: they register us instead.
                    Err(Failed::Login(refused))
                        if refused.refuses_client() && settings.client_metadata_url.is_some() =>
                    {
                        self.verb.output.remark(&format!("{refused}; once more, as a client of its own"));
                        let (server, scopes) = (Arc::clone(&wanted.server), wanted.scopes.clone());
                        let wanted = Wanted { server, scopes, without_document: true };
                        self.by_browser(&sign_ins, &wanted).await
                    }
                    ended => ended,
                },
                GrantSetting::Device => self.by_device(&sign_ins, &wanted).await,
                GrantSetting::ClientCredentials => by_itself(&sign_ins, &wanted).await,
            }
        };
        let credential = match timeout(self.args.timeout, signed_in).await {
            Ok(Ok(credential)) => credential,
            Ok(Err(failed)) => return self.refused(failed, before),
            Err(_) => {
                let late = failure(LoginError::Expired.into(), self.meant.name());
                let refused = self.refused.borrow();
                return Err(match refused.last() {
                    Some(why) => Failure { message: format!("{}; {why}", late.message), ..late },
                    None => late,
                });
            }
        };
        let after = self.probe.ask().await;
        self.tell(&sign_ins, &credential, after)
    }

    /// Sees to it that a sign-in can be kept, and says once where that is in clear.
    fn prepare_store(&self) -> Result<(), Failure> {
        let failed =
            |why: String| Failure::new(Exit::Failed, "store", format!("a sign-in could not be kept: {why}"));
        let prepared = logins::prepare(&self.verb.options.environment).map_err(failed)?;
        let weakness =
            secrets::weakness(prepared.kind, prepared.why_plain.as_ref()).filter(|_| prepared.is_new);
        if let Some(weakness) = weakness {
            self.verb.output.remark(&weakness);
        }
        Ok(())
    }

    /// Ends without a sign-in. A server that works without one is none the worse.
    fn refused(&self, failed: Failed, before: Said) -> Result<Exit, Failure> {
        match (&before, &failed) {
            (Said::Tools(tools), Failed::Login(_)) => {
                let tools = counted(*tools, "tool");
                self.verb.output.remark(&format!(
                    "server '{}' works as it did ({tools}): nothing has changed",
                    self.meant.name()
                ));
                Err(failure(failed, self.meant.name()))
            }
            (Said::Failed(why), _) => {
                let hint = format!("the server itself said: {why}");
                Err(failure(failed, self.meant.name()).hint(hint))
            }
            _ => Err(failure(failed, self.meant.name())),
        }
    }

    /// Returns the scopes that were asked for; each may be several with spaces between.
    fn scopes(&self) -> Vec<String> {
        let written = self.args.scopes.iter();
        written.flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
    }

    async fn by_browser(&self, sign_ins: &Arc<SignIns>, wanted: &Wanted) -> Result<Credential, Failed> {
        let (_, _, key) = prepare(sign_ins, wanted).await?;
        let elsewhere = signed_in_elsewhere(sign_ins, &key);
        let open = begin(sign_ins, wanted, None).await?;
        self.show(&open);
        let mut lines = pasted_lines();
        let paste = async {
            while let Some(line) = lines.recv().await {
                let why = match pasted(&line, open.redirect_uri()) {
                    Pasted::Nothing => continue,
                    Pasted::Query(query) => match open.take(query).await {
                        Err(failed) if failed.leaves_open() => {
                            self.refused.borrow_mut().push(failed.to_string());
                            failed.to_string()
                        }
                        ended => return ended,
                    },
                    Pasted::Elsewhere => {
                        format!(
                            "this is another address; the one to paste begins with {}",
                            open.redirect_uri()
                        )
                    }
                    Pasted::Bare => "a code alone could be anybody's; paste the whole address".to_owned(),
                };
                self.verb.output.remark(&why);
            }
            std::future::pending().await
        };
        tokio::select! {
            ended = open.wait(|why| self.say_refused(why)) => ended,
            ended = paste => ended,
            credential = elsewhere => Ok(credential),
        }
    }

    /// Says why a callback is not taken, once: whoever sends it can send it again and again.
    fn say_refused(&self, why: &Failed) {
        let why = why.to_string();
        let mut refused = self.refused.borrow_mut();
        match refused.iter().position(|known| *known == why) {
            Some(at) => drop(refused.remove(at)),
            None => self.verb.output.remark(&format!("not signed in yet: {why}; the login is still open")),
        }
        refused.push(why);
    }

    /// Says where one signs in before anything is opened.
    fn show(&self, open: &Open) {
        let output = &self.verb.output;
        output.remark(&format!("sign in to '{}' at {}:", self.meant.name(), open.host()));
        say(open.url());
        let port = open.callbacks.as_ref().and_then(|callbacks| callbacks.port());
        let environment = &self.verb.options.environment;
        let opened = match self.args.no_browser {
            true => Err("no browser is opened".to_owned()),
            false if !may_open(open.url()) => Err("that is no address for a browser".to_owned()),
            false => browser::open(open.url(), environment),
        };
        let is_remote = environment.vars.contains_key("SSH_CONNECTION");
        if let Err(why) = &opened {
            output.remark(&format!("{why}; open that address yourself"));
        }
        if let Some(port) = port.filter(|_| opened.is_err() || is_remote) {
            let here = environment.vars.get("SSH_CONNECTION").and_then(|way| way.split(' ').nth(2));
            let here = here.unwrap_or("THIS-MACHINE");
            output.remark(&format!(
                "on another machine, have this one reached first: ssh -L {port}:127.0.0.1:{port} {here}"
            ));
        }
        let or_paste = "or paste the address it ends at here";
        match port {
            Some(_) => output.remark(&format!("waiting for your browser; {or_paste}")),
            None => output.remark(&format!(
                "waiting; when your browser ends at {}, paste that here",
                open.redirect_uri()
            )),
        }
    }

    async fn by_device(&self, sign_ins: &Arc<SignIns>, wanted: &Wanted) -> Result<Credential, Failed> {
        let (context, start, _) = prepare(sign_ins, wanted).await?;
        let mut device = DeviceLogin::begin(&context, start).await?;
        let output = &self.verb.output;
        let host = Url::parse(device.verification_uri()).map(|url| url.authority()).unwrap_or_default();
        output.remark(&format!("sign in to '{}' on any device at {host}:", self.meant.name()));
        say(device.verification_uri());
        output.remark("with this code:");
        say(device.user_code());
        if let Some(whole) = device.verification_uri_complete() {
            output.remark("or by this address, which has it already:");
            say(whole);
        }
        keep(sign_ins, device.wait().await?).await
    }

    fn tell(&self, sign_ins: &SignIns, credential: &Credential, after: Said) -> Result<Exit, Failure> {
        let name = self.meant.name();
        let issuer = Url::parse(&credential.issuer).map(|url| url.authority()).unwrap_or_default();
        let tools = match &after {
            Said::Tools(tools) => Some(*tools),
            Said::SignIn(_) | Said::Failed(_) => None,
        };
        let until = credential.tokens.as_ref().and_then(|tokens| tokens.expires_at);
        let until = until.and_then(|at| Timestamp::from_second(i64::try_from(at).ok()?).ok());
        let report = LoginReport {
            server: name.to_owned(),
            account: credential.key.account.clone(),
            issuer: Some(issuer.clone()),
            scopes: credential.granted_scopes.clone(),
            until: until.map(|until| until.to_string()),
            store: Some(sign_ins.store_kind()).filter(|kind| !kind.is_empty()),
            tools,
        };
        let output = &self.verb.output;
        match (output.is_json(), tools) {
            (true, _) => output.json(&report),
            (false, Some(tools)) => {
                let tools = counted(tools, "tool");
                let account = match report.account.as_str() {
                    manifold_oauth::DEFAULT_ACCOUNT => String::new(),
                    account => format!(" as '{account}'"),
                };
                output.line(&format!("signed in to '{name}'{account} at {issuer}; it has {tools}"));
            }
            (false, None) => _ = output.line(&format!("signed in to '{name}' at {issuer}")),
        }
        match after {
            Said::Tools(_) => Ok(Exit::Ok),
            Said::SignIn(why) => Err(Failure::new(Exit::SignIn, "sign-in", why)),
            Said::Failed(why) => {
                output
                    .remark(&format!("you are signed in, and the server does not work all the same: {why}"));
                Ok(Exit::Ok)
            }
        }
    }
}

async fn by_itself(sign_ins: &Arc<SignIns>, wanted: &Wanted) -> Result<Credential, Failed> {
    let (context, start, _) = prepare(sign_ins, wanted).await?;
    keep(sign_ins, login::client_credentials(&context, start).await?).await
}

/// Says something on a line of its own.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", escaped_line(line));
}

/// Returns whether a browser may be sent there: by https, or to this machine.
fn may_open(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.as_str().starts_with("https://") || url.is_loopback())
}

/// Reads what is pasted, on a thread of its own: it waits for a person, and nobody waits for it.
fn pasted_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(16);
    let read = move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    };
    // Without it the browser can still come back.
    let _ = std::thread::Builder::new().name("pasted".to_owned()).spawn(read);
    lines
}
