//! `secret rekey`: another key for everything that is stored.

use manifold_credentials::{Given, KeyKind, NewKey, Store};
use serde::Serialize;
use zeroize::Zeroizing;

use super::{failed, kind, opened, warn};
use crate::cli::{KeyArg, RekeyArgs};
use crate::commands::token::open_key;
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure, counted};

/// The variable that holds the new key.
const NEW_KEY: &str = "MANIFOLD_NEW_KEY";

#[derive(Serialize)]
struct Done {
    /// What the store was kept with; none where nothing is stored.
    from: Option<&'static str>,
    to: Option<&'static str>,
    /// How many files were written anew.
    files: usize,
}

pub(super) fn run(args: &RekeyArgs, verb: &Verb) -> Result<Exit, Failure> {
    let store = opened(verb)?;
    let new = new_key(args, &store, verb)?;
    let done = store.rekey(new).map_err(|error| failed(&error))?;
    let Some(done) = done else {
        if verb.output.is_json() {
            verb.output.json(&Done { from: None, to: None, files: 0 });
        } else {
            verb.output.line("nothing is stored, so there is no key to change");
        }
        return Ok(Exit::Ok);
    };
    if verb.output.is_json() {
        let (from, to) = (Some(done.from.word()), Some(done.to.word()));
        verb.output.json(&Done { from, to, files: done.files });
    } else if done.files == 0 {
        verb.output.line(&format!("the store has that key already ({})", done.to.word()));
    } else {
        let files = counted(done.files, "file");
        verb.output.line(&format!("{files} written anew: {} to {}", done.from.word(), done.to.word()));
    }
    if matches!(done.to, KeyKind::Variable | KeyKind::File) && done.files > 0 {
        verb.output.remark("give the new key from now on, and start what runs anew with it");
    }
    warn(verb, done.to, None);
    Ok(Exit::Ok)
}

/// Returns the key that is asked for: the one that is named, else the one that is given to a store which has not got it
/// yet, else a new one of the keyring.
fn new_key(args: &RekeyArgs, store: &Store, verb: &Verb) -> Result<NewKey, Failure> {
    let environment = &verb.options.environment;
    // One that is new can be closed before anything is sealed with it.
    if let Some(why) = args.new_key_file.as_ref().and_then(|file| open_key(&environment.cwd.join(file))) {
        return Err(Failure::usage(why));
    }
    let variable = environment.vars.get(NEW_KEY).filter(|text| !text.is_empty());
    let variable = || variable.map(|text| NewKey::Given(Given::Variable(Zeroizing::new(text.clone()))));
    let file =
        || args.new_key_file.as_ref().map(|file| NewKey::Given(Given::File(environment.cwd.join(file))));
    let has_own =
        kind(store).is_none_or(|kind| matches!(kind, KeyKind::Keyring | KeyKind::Beside | KeyKind::Plain));
    let given = |wanted: Option<KeyKind>| {
        let given = Given::among(&environment.vars).filter(|_| has_own)?;
        wanted.is_none_or(|wanted| given.kind() == wanted).then_some(NewKey::Given(given))
    };
    let missing = |message: &str| {
        Failure::usage(message)
            .hint("`openssl rand -base64 32` makes a key; `--to keyring` has one made in the keyring")
    };
    match args.to {
        None if args.new_key_file.is_none() && !has_own && variable().is_none() => {
            Err(missing("which key is to be the new one? name it with --new-key-file FILE"))
        }
        None => Ok(file().or_else(variable).or_else(|| given(None)).unwrap_or(NewKey::Keyring)),
        Some(KeyArg::File) => file()
            .or_else(|| given(Some(KeyKind::File)))
            .ok_or_else(|| missing("the new key is not named; name its file with --new-key-file FILE")),
        Some(_) if args.new_key_file.is_some() => {
            Err(Failure::usage("--new-key-file goes with `--to file` alone"))
        }
        Some(KeyArg::Variable) => variable()
            .or_else(|| given(Some(KeyKind::Variable)))
            .ok_or_else(|| missing("the new key is not given; set MANIFOLD_NEW_KEY")),
        Some(KeyArg::Keyring) => Ok(NewKey::Keyring),
        Some(KeyArg::Plain) => Ok(NewKey::Plain),
    }
}
