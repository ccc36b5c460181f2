//! Connects once as a client would, and says what it will see: how many tools, and which of them are too much for it.

mod piped;
mod posted;

use manifold_config::{Client, Environment, Plug};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::verb::Verb;
use crate::output::counted;
use piped::Piped;
use posted::Posted;

/// So many names are told of those that are too long.
const TOLD: usize = 5;
/// A list that does not end is not read to its end.
const MAX_PAGES: usize = 100;

/// A tool as the list has it.
#[derive(Debug, Deserialize)]
pub(super) struct Tool {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(rename = "nextCursor")]
    next: Option<String>,
}

/// A connection as the entry says.
enum Connection {
    Piped(Piped),
    Posted(Posted),
}

impl Connection {
    fn open(plug: &Plug, environment: &Environment) -> Result<Self, String> {
        match plug {
            Plug::Stdio { command, args, env } => {
                Piped::open(command, args, env, environment).map(Self::Piped)
            }
            Plug::Http { url, headers } => Posted::open(url, headers, environment).map(Self::Posted),
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        match self {
            Self::Piped(piped) => piped.ask(method, params),
            Self::Posted(posted) => posted.ask(method, params),
        }
    }

    fn tell(&mut self, method: &str) -> Result<(), String> {
        match self {
            Self::Piped(piped) => piped.tell(method),
            Self::Posted(posted) => posted.tell(method),
        }
    }
}

/// Connects, and says what came of it. That it fails is no failure of the command: the entry is written.
pub(super) fn tell(client: &Client, name: &str, plug: &Plug, verb: &Verb) {
    let progress = verb.output.progress(&format!("connecting as {} would", client.title()));
    let seen = tools(client, plug, verb);
    drop(progress);
    let said = match seen {
        Ok(tools) => {
            let mut said = vec![format!("{} will see {}", client.title(), counted(tools.len(), "tool"))];
            said.extend(overruns(client, name, &tools));
            said
        }
        Err(why) => vec![format!("{} would not get through: {why}", client.title())],
    };
    say(&said, verb);
}

/// Connects once for all of these clients, which get the same, and says what is too much for any of them.
pub(in super::super) fn tell_all(clients: &[&'static Client], name: &str, plug: &Plug, verb: &Verb) {
    let Some(first) = clients.first() else { return };
    let progress = verb.output.progress("connecting as a client would");
    let seen = tools(first, plug, verb);
    drop(progress);
    let said = match seen {
        Ok(tools) => {
            let mut said = vec![format!("they will see {}", counted(tools.len(), "tool"))];
            for client in clients {
                let told = overruns(client, name, &tools).into_iter();
                said.extend(told.map(|one| format!("{}: {one}", client.title())));
            }
            said
        }
        Err(why) => vec![format!("a client would not get through: {why}")],
    };
    say(&said, verb);
}

fn say(said: &[String], verb: &Verb) {
    for line in said {
        match verb.output.is_json() {
            true => verb.output.remark(line),
            false => {
                verb.output.line(&format!("  {line}"));
            }
        }
    }
}

fn tools(client: &Client, plug: &Plug, verb: &Verb) -> Result<Vec<Tool>, String> {
    let mut connection = Connection::open(plug, &verb.options.environment)?;
    let hello = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": client.known_as(), "version": env!("CARGO_PKG_VERSION")},
    });
    connection.ask("initialize", &hello)?;
    connection.tell("notifications/initialized")?;
    let mut tools = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = connection.ask("tools/list", &params)?;
        let page: Page = serde_json::from_value(page).map_err(|_| "its list of tools is none".to_owned())?;
        tools.extend(page.tools);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(tools)
}

/// Returns what is more than a client can take.
pub(super) fn overruns(client: &Client, name: &str, tools: &[Tool]) -> Vec<String> {
    let limits = client.limits();
    let mut said = Vec::new();
    if let Some(most) = limits.max_tools.filter(|most| tools.len() > *most) {
        said.push(format!(
            "that is more than the {most} it takes: leave some out with a namespace, or disable servers"
        ));
    }
    let long: Vec<String> = tools
        .iter()
        .filter(|tool| limits.excess(name, &tool.name) > 0)
        .map(|tool| limits.shown(name, &tool.name))
        .collect();
    if !long.is_empty() {
        let most = limits.max_name.unwrap_or_default();
        let fate = limits.too_long.as_deref().unwrap_or("may not work");
        let are = if long.len() == 1 { "name is" } else { "names are" };
        let more = if long.len() > TOLD { ", …" } else { "" };
        let told = long.iter().take(TOLD).cloned().collect::<Vec<_>>().join(", ");
        said.push(format!(
            "{} {are} longer than {most} characters, and such a tool {fate}: {told}{more}",
            long.len()
        ));
    }
    if let Some(most) = limits.max_description_bytes {
        let cut = tools.iter().filter(|tool| tool.description.len() > most).count();
        if cut > 0 {
            said.push(format!("{} will be cut at {most} bytes", counted(cut, "description")));
        }
    }
    said
}
