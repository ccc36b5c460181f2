//! The tool or the prompt that is meant, with its definition.

use std::fmt::Write as _;
use std::thread;
use std::time::Duration;

use manifold_admin::{FailedServer, ListedItem};
use manifold_admin_client::segment;
use manifold_config::most_alike;

use super::address::{Address, Found};
use super::deadline::Deadline;
use super::gateway::Gateway;
use crate::output::{Exit, Failure};

/// What can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    Tool,
    Prompt,
}

/// A list that goes on for ever is none.
const MAX_PAGES: usize = 1000;
/// Between one question and the next.
const PAUSE: Duration = Duration::from_millis(100);

impl Sought {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
        }
    }
}

/// All that a list says.
#[derive(Debug, Default)]
struct Listed {
    items: Vec<ListedItem>,
    failed: Vec<FailedServer>,
    /// Whether more may come.
    is_starting: bool,
}

/// Returns what is meant, or `None` if no list has it: then the gateway is to say why.
pub(super) fn find(
    gateway: &dyn Gateway,
    sought: Sought,
    address: &Address,
    namespace: Option<&str>,
    deadline: Deadline,
) -> Result<Option<ListedItem>, Failure> {
    let query = format!("full=1&name={}", segment(&address.name));
    let listed = loop {
        let left = deadline.left_ms()?.map_or_else(String::new, |left| format!("&timeoutMs={left}"));
        let listed = list(gateway, sought, &format!("{query}{left}"), namespace)?;
        // The gateway itself waits before it answers.
        match address.find(&listed.items) {
            Found::None if listed.is_starting => thread::sleep(PAUSE),
            _ => break listed,
        }
    };
    if let [only] = listed.items.as_slice() {
        return Ok(Some(only.clone()));
    }
    match address.find(&listed.items) {
        Found::One(item) => Ok(Some(item.clone())),
        Found::Several(names) => {
            let message = format!("'{}' could be {}; name one", address.name, names.join(" or "));
            Err(Failure::new(Exit::Usage, "ambiguous-item", message))
        }
        Found::None => match listed.failed.iter().find(|failed| address.is_of(&failed.server)) {
            Some(FailedServer { server, message }) => {
                let failure =
                    Failure::new(Exit::Unreachable, "failed-to-start", format!("{server}: {message}"));
                Err(Failure { server: Some(server.clone()), ..failure })
            }
            None => Ok(None),
        },
    }
}

/// Says that no list has what is meant.
pub(super) fn unknown(sought: Sought, address: &Address) -> Failure {
    Failure::new(Exit::Unknown, "unknown-item", format!("there is no {} '{}'", sought.word(), address.name))
}

/// Adds to a failure what was likely meant, if the failure is that there is no such thing.
pub(super) fn suggested(
    failure: Failure,
    gateway: &dyn Gateway,
    sought: Sought,
    address: &Address,
    namespace: Option<&str>,
) -> Failure {
    if failure.code != "unknown-item" || failure.hint.is_some() {
        return failure;
    }
    let listed = list(gateway, sought, "limit=10000", namespace).unwrap_or_default();
    let names = listed.items.iter().flat_map(|item| [item.name.as_str(), item.original.as_str()]);
    let word = sought.word();
    if listed.items.iter().any(|item| item.server == address.name) {
        let server = &address.name;
        return failure
            .hint(format!("'{server}' is a server; `manifold {word}s --server {server}` lists what it has"));
    }
    match most_alike(&address.name, names) {
        Some(name) => failure.hint(format!("did you mean `{name}`?")),
        None => failure.hint(format!("`manifold {word}s` shows those there are")),
    }
}

fn list(
    gateway: &dyn Gateway,
    sought: Sought,
    query: &str,
    namespace: Option<&str>,
) -> Result<Listed, Failure> {
    let mut path = format!("/v1/{}s?{query}", sought.word());
    if let Some(namespace) = namespace {
        let _ = write!(path, "&namespace={}", segment(namespace));
    }
    let mut listed = Listed::default();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let from = cursor.map_or_else(String::new, |cursor| format!("&cursor={}", segment(&cursor)));
        let page = gateway.items(&format!("{path}{from}"))?;
        listed.items.extend(page.items);
        listed.failed = page.failed;
        listed.is_starting = !page.starting.is_empty();
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(listed)
}
