//! The manager tools (S1-47 to S1-54): servers by configured name, never a command from the request (T3).

use manifold_engine::{BoxFuture, NamespaceControl, Order};
use manifold_protocol::{Failure, Fault, Raw};
use serde::Serialize;

use super::{Toolbox, text_result, text_results};

const DEFAULT_LINES: u64 = 50;

pub(super) struct Manager {
    control: NamespaceControl,
}

impl Manager {
    pub(super) fn new(control: NamespaceControl) -> Self {
        Self { control }
    }
}

impl Toolbox for Manager {
    fn tools(&self) -> Vec<Raw> {
        let none = r#"{"type":"object","properties":{}}"#;
        let id = r#"{"type":"object","properties":{"server_id":{"type":"string","description":"The id of the server, as servers_list gives it"}},"required":["server_id"]}"#;
        let logs = r#"{"type":"object","properties":{"server_id":{"type":"string","description":"The id of the server, as servers_list gives it"},"lines":{"type":"integer","description":"How many of the last lines to return","default":50,"minimum":0}},"required":["server_id"]}"#;
        [
            ("servers_list", "List all configured MCP servers with their status", none, true),
            ("servers_start", "Start a configured MCP server", id, false),
            ("servers_stop", "Stop an MCP server; it stays down until it is started again", id, false),
            ("servers_restart", "Restart an MCP server", id, false),
            ("server_logs", "Show the last log lines of an MCP server", logs, true),
            ("config_reload", "Read the config file again and take over what changed", none, false),
            ("namespaces_list", "List all namespaces and show the active one", none, true),
        ]
        .into_iter()
        .map(|(name, description, schema, read_only)| {
            let annotations = format!(r#"{{"readOnlyHint":{read_only},"openWorldHint":false}}"#);
            let text = format!(
                r#"{{"name":"{name}","description":"{description}","inputSchema":{schema},"annotations":{annotations}}}"#
            );
            Raw::parse(text).unwrap_or_else(|_| Raw::null())
        })
        .collect()
    }

    fn call(&self, tool: &str, arguments: Option<Raw>) -> BoxFuture<Result<Raw, Failure>> {
        let (control, tool) = (self.control.clone(), tool.to_owned());
        Box::pin(async move {
            match tool.as_str() {
                "servers_list" => Ok(servers(&control)),
                "namespaces_list" => Ok(json_result(&control.namespaces())),
                "servers_start" => order(&control, arguments.as_ref(), Order::Start, "running").await,
                "servers_stop" => order(&control, arguments.as_ref(), Order::Stop, "stopped").await,
                "servers_restart" => order(&control, arguments.as_ref(), Order::Restart, "running").await,
                "server_logs" => logs(&control, arguments.as_ref()),
                "config_reload" => Ok(match control.reload().await {
                    Ok(report) => json_result(&report),
                    // The old config stays in force; a model can read why and tell its user.
                    Err(why) => text_result(&format!("The config was not reloaded: {why}"), None, true),
                }),
                _ => Err(Fault::UnknownTool(tool).into()),
            }
        })
    }
}

/// Lists the servers; a config that could not be used is told of beside its having none (D9).
fn servers(control: &NamespaceControl) -> Raw {
    let rows = Raw::serialize(&control.servers());
    match control.trouble() {
        Some(trouble) => text_results(&[rows.as_str(), &trouble], None, false),
        None => text_result(rows.as_str(), None, false),
    }
}

async fn order(
    control: &NamespaceControl,
    arguments: Option<&Raw>,
    order: Order,
    status: &'static str,
) -> Result<Raw, Failure> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Done<'a> {
        success: bool,
        server_id: &'a str,
        status: &'a str,
    }
    let id = server_id(arguments)?;
    control.order(&id, order).await?;
    Ok(json_result(&Done { success: true, server_id: &id, status }))
}

fn logs(control: &NamespaceControl, arguments: Option<&Raw>) -> Result<Raw, Failure> {
    let id = server_id(arguments)?;
    let lines = match arguments.and_then(|arguments| arguments.get("lines")) {
        None => DEFAULT_LINES,
        Some(lines) => match lines.u64() {
            Some(0) => DEFAULT_LINES,
            Some(lines) => lines,
            None => {
                return Err(
                    Fault::InvalidParams("`lines` must be a whole number, 0 or more".to_owned()).into()
                );
            }
        },
    };
    let lines = control.logs(&id, usize::try_from(lines).unwrap_or(usize::MAX))?;
    Ok(text_result(&lines.join("\n"), None, false))
}

fn server_id(arguments: Option<&Raw>) -> Result<String, Fault> {
    let id = arguments.and_then(|arguments| arguments.get("server_id"));
    let id = id.as_ref().ok_or_else(|| Fault::MissingParameter("server_id".to_owned()))?;
    match id.to_text() {
        Some(id) => Ok(id.into_owned()),
        None => Err(Fault::InvalidParams("`server_id` must be a string".to_owned())),
    }
}

/// Writes a value as a text block holding JSON (section 2.2's shapes).
fn json_result<T: Serialize + ?Sized>(value: &T) -> Raw {
    text_result(Raw::serialize(value).as_str(), None, false)
}
