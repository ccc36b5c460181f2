//! `token create | list | revoke`: who may come in over HTTP, and to what.

use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use manifold_admin::{TokenChanged, TokenRow};
use manifold_config::{Config, Grant, NamedToken, load};

use super::noted::note;
use super::verb::Verb;
use crate::cli::{TokenArgs, TokenCommand};
use crate::output::{Cell, Column, Exit, Failure, Form, Suggestion, Table, Tone};
use crate::tokens::{StoredToken, TokenFile, random};

/// The name that `server.token` goes by.
const DEFAULT: &str = "default";

pub(super) fn run(command: &TokenCommand, verb: Verb) -> ExitCode {
    verb.run(|verb| match command {
        TokenCommand::Create(args) => create(args, verb),
        TokenCommand::List(_) => list(verb),
        TokenCommand::Revoke { name, .. } => revoke(name, verb),
    })
}

fn create(args: &TokenArgs, verb: &Verb) -> Result<Exit, Failure> {
    let name = args.name.as_str();
    check_name(name)?;
    let file = kept(verb)?;
    let config = load(verb.options).ok();
    if let Some(config) = &config {
        if named_in(config).any(|token| token == name) {
            return Err(taken(name, "the config has a token of that name"));
        }
        warn_of_unknown(&args.namespaces, config, verb);
    }
    let expires = args.expires.map(after).transpose()?;
    let list = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
    let grant = Grant { namespaces: list(&args.namespaces), tools: list(&args.tools) };
    let token = random().map_err(|why| Failure::new(Exit::Failed, "no-randomness", why))?;
    let stored = StoredToken::new(name, &token, grant, expires);
    let is_new = file.change(|tokens| {
        // One that is over makes room for its successor.
        tokens.retain(|one| one.name != name || !one.is_expired());
        let is_new = tokens.iter().all(|one| one.name != name);
        if is_new {
            tokens.push(stored.clone());
        }
        is_new
    });
    let outcome = match is_new {
        Ok(true) => Ok(()),
        Ok(false) => Err(taken(name, "there is a token of that name")),
        Err(why) => Err(unwritten(why)),
    };
    note(verb, "token create", Some(name), outcome.as_ref().err());
    outcome?;
    if verb.output.is_json() {
        verb.output.json(&TokenChanged { token: Some(token), ..changed(&stored) });
    } else {
        verb.output.line(&token);
        verb.output
            .remark(&format!("the token '{name}' is shown this once; whoever has it comes in as '{name}'"));
        if file.read().is_ok_and(|tokens| tokens.len() == 1)
            && config.is_some_and(|config| !is_closed(&config))
        {
            verb.output
                .remark("from now on nobody comes in over HTTP without a token, this machine included");
        }
    }
    Ok(Exit::Ok)
}

fn list(verb: &Verb) -> Result<Exit, Failure> {
    let mut rows: Vec<TokenRow> = Vec::new();
    let config = load(verb.options);
    if let Err(error) = &config {
        verb.output
            .remark(&format!("the config cannot be used, so its own tokens are not among these: {error}"));
    }
    if let Ok(config) = config {
        if config.settings.http.token.is_some() {
            rows.push(TokenRow {
                name: DEFAULT.to_owned(),
                source: "config".to_owned(),
                ..TokenRow::default()
            });
        }
        rows.extend(config.settings.http.tokens.iter().map(of_config));
    }
    let stored = kept(verb)?.read().map_err(unwritten)?;
    rows.extend(stored.iter().map(of_store));
    let output = &verb.output;
    match output.form() {
        Form::Json => output.json(&rows),
        Form::Ids => rows.iter().for_each(|row| _ = output.line(&row.name)),
        Form::Text if rows.is_empty() => {
            output.remark("there is no token; `manifold token create NAME` makes one");
        }
        Form::Text => output.table(&table(&rows)),
    }
    Ok(Exit::Ok)
}

fn revoke(name: &str, verb: &Verb) -> Result<Exit, Failure> {
    let file = kept(verb)?;
    let removed = file.change(|tokens| {
        let at = tokens.iter().position(|token| token.name == name)?;
        Some(tokens.remove(at))
    });
    let removed = match removed {
        Ok(Some(removed)) => Ok(removed),
        Ok(None) => Err(unknown(name, &file, verb)),
        Err(why) => Err(unwritten(why)),
    };
    note(verb, "token revoke", Some(name), removed.as_ref().err());
    let removed = removed?;
    match verb.output.is_json() {
        true => verb.output.json(&TokenChanged { revoked: true, ..changed(&removed) }),
        false => {
            verb.output.line(&format!("the token '{name}' lets nobody in any more"));
        }
    }
    Ok(Exit::Ok)
}

fn check_name(name: &str) -> Result<(), Failure> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=64).contains(&name.len()) && name.bytes().all(fits) && name != DEFAULT {
        return Ok(());
    }
    let message = format!("'{}' is no name for a token", name.escape_debug());
    Err(Failure::usage(message)
        .hint("use letters, digits, `-`, `_` and `.`, 64 at most; `default` is the name of `server.token`"))
}

fn named_in(config: &Config) -> impl Iterator<Item = &str> {
    config.settings.http.tokens.iter().map(|token| token.name.as_str())
}

fn is_closed(config: &Config) -> bool {
    let http = &config.settings.http;
    http.token.is_some() || http.auth.is_some() || !http.tokens.is_empty()
}

/// Says which namespaces there are not, yet or by a slip.
fn warn_of_unknown(namespaces: &[String], config: &Config, verb: &Verb) {
    let is_known = |name: &str| name == DEFAULT || config.namespaces.iter().any(|one| one.id == name);
    for namespace in namespaces.iter().filter(|name| !is_known(name)) {
        let known = config.namespaces.iter().map(|one| one.id.as_str());
        let hint = Suggestion::among(known, namespace).or("the token is good for it once it is there");
        verb.output.remark(&format!("there is no namespace '{namespace}'; {hint}"));
    }
}

fn after(span: std::time::Duration) -> Result<Timestamp, Failure> {
    let span = SignedDuration::try_from(span).ok();
    let at = span.and_then(|span| Timestamp::now().checked_add(span).ok());
    at.ok_or_else(|| Failure::usage("--expires is too far in the future"))
}

fn kept(verb: &Verb) -> Result<TokenFile, Failure> {
    TokenFile::of(verb.options).ok_or_else(|| {
        Failure::usage("there is no home directory to keep tokens in").hint("set XDG_DATA_HOME")
    })
}

fn changed(token: &StoredToken) -> TokenChanged {
    TokenChanged {
        name: token.name.clone(),
        token: None,
        revoked: false,
        namespaces: token.namespaces.clone(),
        tools: token.tools.clone(),
        expires: token.expires.as_ref().map(|at| moment(at.0)),
    }
}

fn of_store(token: &StoredToken) -> TokenRow {
    TokenRow {
        name: token.name.clone(),
        source: "command".to_owned(),
        namespaces: token.namespaces.clone(),
        tools: token.tools.clone(),
        created: Some(moment(token.created.0)),
        expires: token.expires.as_ref().map(|at| moment(at.0)),
        expired: token.is_expired(),
    }
}

fn of_config(token: &NamedToken) -> TokenRow {
    let expires = token.expires.and_then(|at| Timestamp::try_from(at).ok());
    TokenRow {
        name: token.name.clone(),
        source: "config".to_owned(),
        namespaces: token.grant.namespaces.clone(),
        tools: token.grant.tools.clone(),
        created: None,
        expires: expires.map(moment),
        expired: expires.is_some_and(|expires| expires <= Timestamp::now()),
    }
}

fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn table(rows: &[TokenRow]) -> Table {
    let mut table = Table::new([
        Column::id("NAME"),
        Column::text("NAMESPACES"),
        Column::text("TOOLS"),
        Column::id("CREATED"),
        Column::id("EXPIRES"),
        Column::text("FROM"),
    ]);
    let all = |names: &Option<Vec<String>>| names.as_ref().map_or("all".to_owned(), |names| names.join(", "));
    for row in rows {
        let expires: Cell = row.expires.as_ref().into();
        table.row([
            Cell::new(&row.name),
            Cell::new(all(&row.namespaces)),
            Cell::new(all(&row.tools)),
            row.created.as_ref().into(),
            if row.expired { expires.tone(Tone::Bad) } else { expires },
            Cell::new(&row.source),
        ]);
    }
    table
}

fn taken(name: &str, why: &str) -> Failure {
    Failure::new(Exit::Usage, "token-exists", format!("the token '{name}' cannot be made: {why}"))
        .hint("choose another name, or revoke that one first")
}

fn unwritten(why: String) -> Failure {
    Failure::new(Exit::Failed, "tokens", why)
}

fn unknown(name: &str, file: &TokenFile, verb: &Verb) -> Failure {
    let config = load(verb.options).ok();
    let is_of_config = config.as_ref().is_some_and(|config| {
        named_in(config).any(|one| one == name) || (name == DEFAULT && config.settings.http.token.is_some())
    });
    let failure =
        Failure::new(Exit::Unknown, "unknown-token", format!("there is no token '{name}' to revoke"));
    if is_of_config {
        return failure.hint("it stands in the config: take it out there, and it is gone at once");
    }
    let known: Vec<String> = file.read().unwrap_or_default().into_iter().map(|token| token.name).collect();
    let hint = Suggestion::among(known.iter().map(String::as_str), name);
    failure.hint(hint.or("`manifold token list` shows those there are"))
}
