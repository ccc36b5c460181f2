//! What is said of faults.

use std::time::Duration;

use super::Fault;
use crate::dialect::modern::REVISION;
use crate::model::Kind;

impl Fault {
    /// Returns what the user reads: which server, what went wrong, what to do next.
    pub fn message(&self) -> String {
        match self {
            // The request itself.
            Self::Parse => "Parse error: the message is not valid JSON".to_owned(),
            Self::InvalidRequest(why) => format!("Invalid request: {why}"),
            Self::UnknownMethod(method) => format!("Method '{method}' not found"),
            Self::InvalidParams(why) => format!("Invalid params: {why}"),
            Self::MissingParameter(name) => format!("Invalid params: Missing required parameter '{name}'"),
            Self::ArgumentMismatch { tool, field, issue } => argument_mismatch(tool, field, issue),
            Self::HeaderMismatch(why) => format!("Header mismatch: {why}"),
            Self::UnsupportedVersion { requested } => format!(
                "Unsupported protocol version '{requested}'; without a session, {REVISION} is spoken here"
            ),
            // What it asks for.
            Self::UnknownTool(name) => format!("Tool '{name}' not found"),
            Self::UnknownServer { server, tool } => {
                format!("Server '{server}' not found: no configured server offers '{tool}'")
            }
            Self::UnknownToolOf { server, tool } => format!("Tool '{tool}' not found on server '{server}'"),
            Self::UnknownPrompt(name) => format!("Prompt '{name}' not found"),
            Self::UnknownResource(uri) => format!("Resource '{uri}' not found"),
            Self::UnknownNamespace { requested, exists } => {
                format!("Namespace '{requested}' not found; the config has: {}", names(exists))
            }
            Self::NamespaceNotChosen { exists } => namespace_not_chosen(exists),
            // The server.
            Self::FailedToStart { server, reason } => format!("Server '{server}' failed to start: {reason}"),
            Self::NotRunning { server, reason } => format!("Server '{server}' is not running: {reason}"),
            Self::Busy { server, reason } => format!("Server '{server}' is busy: {reason}"),
            Self::TimedOut { server, tool, after } => timed_out(server, tool.as_deref(), *after),
            Self::Died { server, reason, .. } => {
                format!("Server '{server}' went away during the call: {reason}")
            }
            Self::Refused { server, reason, .. } => format!("Server '{server}' refused the call: {reason}"),
            Self::Malformed { server, reason } => {
                format!("Server '{server}' sent an answer that is not a valid message: {reason}")
            }
            Self::Unanswered { server, reason, .. } => {
                format!("Server '{server}' asked a question in the middle of the call: {reason}")
            }
            // Limits.
            Self::RateLimited { per, limit, window, retry_after } => format!(
                "Too many calls: {limit} in {} s are allowed per {per} (limits.rate); try again in {} s",
                window.as_secs(),
                retry_after.as_secs()
            ),
            Self::TooLarge { server, limit_bytes } => too_large(server.as_deref(), *limit_bytes),
            Self::Overloaded { limit_bytes } => format!(
                "Messages of more than {limit_bytes} bytes are under way (limits.heldBytes); try again in a moment"
            ),
            Self::OverLimit { what, limit, setting } => {
                format!(
                    "Too many {what}: {limit} at once are allowed (limits.{setting}); try again in a moment"
                )
            }
            // Who asks, and what it can and may do.
            Self::Authentication { variable, .. } => {
                format!("Authentication failed: Invalid or missing {variable}")
            }
            Self::SignInNeeded { server, account, state, reason } => {
                sign_in_needed(server, account.as_deref(), state, reason.as_deref())
            }
            Self::ClientCannot { what } => format!("The client does not support {what}"),
            Self::MissingCapability { required } => format!("Missing required client capability: {required}"),
            Self::NeedsConsent { kind, name } => needs_consent(*kind, name),
            Self::NeedsScope { scopes } => {
                format!("the token lacks a scope for this; it needs: {}", scopes.join(" "))
            }
            // Ourselves.
            Self::ShuttingDown => "Invalid request: the server is shutting down".to_owned(),
            Self::Internal(what) => format!("Internal error: {what}"),
        }
    }
}

fn argument_mismatch(tool: &str, field: &str, issue: &str) -> String {
    if field.is_empty() {
        format!("Invalid params: arguments of '{tool}': {issue}")
    } else {
        format!("Invalid params: '{field}' of '{tool}': {issue}")
    }
}

fn namespace_not_chosen(exists: &[String]) -> String {
    format!(
        "Several namespaces are configured and none is selected; start with --namespace and one of: {}",
        names(exists)
    )
}

fn names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn timed_out(server: &str, tool: Option<&str>, after: Duration) -> String {
    let millis = after.as_millis();
    match tool {
        Some(tool) => format!(
            "Tool '{tool}' of server '{server}' did not answer within {millis} ms; raise the server's `timeout` if it needs longer"
        ),
        None => format!("Server '{server}' did not answer within {millis} ms"),
    }
}

fn too_large(server: Option<&str>, limit_bytes: usize) -> String {
    match server {
        Some(server) => {
            format!(
                "The answer of server '{server}' is larger than {limit_bytes} bytes (limits.messageBytes)"
            )
        }
        None => {
            format!("Invalid request: the message is larger than {limit_bytes} bytes (limits.requestBytes)")
        }
    }
}

/// Returns the command that signs in to a server, as a shell takes it.
pub fn login_command(server: &str, account: Option<&str>) -> String {
    let account = account.map(|account| format!(" --account {}", word(account))).unwrap_or_default();
    format!("manifold login {}{account}", word(server))
}

/// Returns a word as a shell takes it.
fn word(text: &str) -> String {
    let is_plain = !text.is_empty()
        && !text.starts_with('-')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:@".contains(&byte));
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Returns the command that helps, where one does.
pub(super) fn sign_in_command(server: &str, account: Option<&str>, state: &str) -> Option<String> {
    // Neither is mended by signing in.
    let is_elsewhere = matches!(state, "needs client id" | "issuer refused" | "store failed" | "off");
    (!is_elsewhere).then(|| login_command(server, account))
}

fn sign_in_needed(server: &str, account: Option<&str>, state: &str, reason: Option<&str>) -> String {
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let command = sign_in_command(server, account, state);
    let command = command.map(|command| format!("`{command}`")).unwrap_or_default();
    match state {
        "off" => format!(
            "Server '{server}' wants you to sign in, and its `oauth` is false in the config; remove that, or give it a \
             token: \"headers\": {{\"Authorization\": \"Bearer ${{TOKEN}}\"}}"
        ),
        "login open" => {
            format!("Server '{server}' waits for you to sign in; finish it in your browser, or run {command}")
        }
        "login expired" => format!("The sign-in to server '{server}' has expired{reason}; run {command}"),
        "needs scope" => {
            format!("Server '{server}' wants more rights than it was given{reason}; run {command}")
        }
        "needs client id" => format!(
            "Server '{server}' wants you to sign in with a client that is registered there{reason}; register one and set \
             `oauth.clientId` of the server in the config"
        ),
        "issuer refused" => format!(
            "Server '{server}' names another issuer than the one it was signed in with{reason}; if that is right, set \
             `oauth.issuer` of the server in the config"
        ),
        "store failed" => {
            format!("What is stored of the sign-in to server '{server}' cannot be used{reason}")
        }
        _ => format!("Server '{server}' wants you to sign in{reason}; run {command}"),
    }
}

fn needs_consent(kind: Kind, name: &str) -> String {
    let what = match kind {
        Kind::Tools => "Tool",
        Kind::Prompts => "Prompt",
        Kind::Resources | Kind::Templates => "Resource",
    };
    format!(
        "{what} '{name}' may only be used with somebody's consent, which cannot be given from here yet; \
         ask the user to permit it in the config"
    )
}
