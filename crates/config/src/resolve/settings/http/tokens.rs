//! `server.tokens`: tokens by name, each with what it may use. One that was asked for and is not there stops us.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use crate::environment::Environment;
use crate::fields::Fields;
use crate::file::{Value, join};
use crate::keys::table::NAMED_TOKEN;
use crate::model::{Grant, NamedToken, TokenDigest, TokenOrigin};
use crate::problem::Problems;
use crate::secret::Secret;
use crate::secrets::SECRET;

pub(in crate::resolve) const TOKENS: &str = "server.tokens";
/// The name that `server.token` goes by.
const DEFAULT: &str = "default";

pub(super) fn tokens(
    server: Fields<'_>,
    environment: &Environment,
    problems: &mut Problems,
) -> Option<Vec<NamedToken>> {
    if server.present("tokens").is_none() {
        return Some(Vec::new());
    }
    let mut tokens = Vec::new();
    let mut is_whole = true;
    for (name, node) in &server.object("tokens")?.members {
        let Value::Object(object) = &node.value else {
            // An explicit null is as good as no key; the check has told of all else.
            is_whole &= matches!(node.value, Value::Null);
            continue;
        };
        let reading = Reading { name, fields: Fields::new(object, &NAMED_TOKEN), environment };
        match reading.token() {
            Ok(_) if name == DEFAULT => {
                let hint = "`server.token` goes by that name; give this one another";
                problems.error(node.line, &reading.place(), "has a reserved name", Some(hint.to_owned()));
                is_whole = false;
            }
            Ok(token) => {
                if token.expires.is_some_and(|expires| expires <= SystemTime::now()) {
                    let hint = "remove it, or give it a later date in `expires`";
                    problems.warn(node.line, &reading.place(), "has expired", Some(hint.to_owned()));
                }
                tokens.push(token);
            }
            Err((what, hint)) => {
                problems.error(node.line, &reading.place(), what, Some(hint));
                is_whole = false;
            }
        }
    }
    is_whole.then_some(tokens)
}

/// What is wrong, and what to do about it.
type Wrong = (String, String);

struct Reading<'a> {
    name: &'a str,
    fields: Fields<'a>,
    environment: &'a Environment,
}

impl Reading<'_> {
    fn place(&self) -> String {
        join(TOKENS, self.name)
    }

    fn token(&self) -> Result<NamedToken, Wrong> {
        if !is_name(self.name) {
            let hint = "use letters, digits, `-`, `_` and `.`, 64 at most";
            return Err(("is no name for a token".to_owned(), hint.to_owned()));
        }
        let (digest, origin) = self.digest()?;
        Ok(NamedToken {
            name: self.name.to_owned(),
            digest,
            origin,
            grant: grant(self.fields)?,
            expires: self.expires()?,
        })
    }

    fn digest(&self) -> Result<(TokenDigest, TokenOrigin), Wrong> {
        let given: Vec<&str> =
            ["file", "env", "hash"].into_iter().filter(|key| self.fields.present(key).is_some()).collect();
        let [key] = given.as_slice() else {
            let what = if given.is_empty() {
                "has no token".to_owned()
            } else {
                format!("has `{}`", given.join("`, `"))
            };
            return Err((what, "give one of `file`, `env` and `hash`".to_owned()));
        };
        let written = needed(self.fields, key)?;
        let mut open_file = None;
        let value = match *key {
            "hash" => {
                let digest = TokenDigest::from_hex(&written).ok_or_else(|| {
                    let hint = "write 64 hexadecimal digits, as `printf %s TOKEN | sha256sum` shows them";
                    ("`hash` is no SHA-256".to_owned(), hint.to_owned())
                })?;
                return Ok((digest, TokenOrigin::Hash));
            }
            "env" => self.environment.vars.get(&written).cloned().ok_or_else(|| {
                (format!("variable `{written}` is not set"), "set it, or remove the token".to_owned())
            })?,
            _ => {
                let path = self.fields.path("file", self.environment).unwrap_or_default();
                open_file = Some(PathBuf::from(&path)).filter(|path| is_open(path));
                std::fs::read_to_string(&path).map_err(|error| {
                    (
                        format!("`{path}` cannot be read: {error}"),
                        "put the token there, or remove it".to_owned(),
                    )
                })?
            }
        };
        let value = value.trim();
        if value.is_empty() {
            return Err((
                format!("`{key}` leads to nothing"),
                "put the token there, or remove it".to_owned(),
            ));
        }
        // It is hidden from now on in what we repeat of servers.
        let _ = Secret::new(value);
        Ok((TokenDigest::of(value), TokenOrigin::Read { characters: value.chars().count(), open_file }))
    }

    fn expires(&self) -> Result<Option<SystemTime>, Wrong> {
        if self.fields.present("expires").is_none() {
            return Ok(None);
        }
        let written = needed(self.fields, "expires")?;
        moment(&written).map(Some).ok_or_else(|| {
            let hint = "write a date such as `2027-03-31`, or `2027-03-31T12:00:00Z`";
            (format!("`expires` is no date: `{}`", written.escape_debug()), hint.to_owned())
        })
    }
}

/// Returns whether others can read a file.
fn is_open(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o044 != 0)
}

/// Reads a moment; a date alone means its last.
fn moment(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.into());
    }
    let next = text.parse::<Date>().ok()?.checked_add(1.day()).ok()?;
    Some(next.to_zoned(TimeZone::UTC).ok()?.timestamp().into())
}

pub(super) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// Reads what may be used.
pub(super) fn grant(fields: Fields<'_>) -> Result<Grant, Wrong> {
    Ok(Grant { namespaces: names(fields, "namespaces")?, tools: names(fields, "tools")? })
}

/// Reads a list of texts that restricts; a text whose variable is missing is no text.
pub(super) fn names(fields: Fields<'_>, key: &str) -> Result<Option<Vec<String>>, Wrong> {
    let Some(node) = fields.present(key) else { return Ok(None) };
    let Value::List(items) = &node.value else { return Err(not_text(key)) };
    let mut names = Vec::new();
    for item in items {
        match &item.value {
            Value::Text(text) if text.missing.is_empty() => names.push(text.value.clone()),
            Value::Text(text) => return Err(missing(key, &text.missing)),
            _ => return Err(not_text(key)),
        }
    }
    Ok(Some(names))
}

/// Reads a text that cannot be done without.
pub(super) fn needed(fields: Fields<'_>, key: &str) -> Result<String, Wrong> {
    let text = fields.text(key).ok_or_else(|| not_text(key))?;
    if !text.missing.is_empty() {
        return Err(missing(key, &text.missing));
    }
    let value = text.value.trim();
    match value.is_empty() {
        true => Err((format!("`{key}` is empty"), "write it, or remove it".to_owned())),
        false => Ok(value.to_owned()),
    }
}

fn not_text(key: &str) -> Wrong {
    (format!("`{key}` is not text"), "write it between quotes".to_owned())
}

fn missing(key: &str, names: &[String]) -> Wrong {
    let secrets: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix(SECRET)).collect();
    match secrets.as_slice() {
        [] => (format!("`{key}`: variable `{}` is not set", names.join("`, `")), "set it".to_owned()),
        [first, ..] => (
            format!("`{key}`: the secret `{first}` cannot be had"),
            format!("run `manifold secret set {first}`, or `manifold secret list` to see what is wrong"),
        ),
    }
}
