//! Whether a namespace permits a server's tool. Rules match parsed pairs, never joined names.

use manifold_config::{Permissions, Server};

/// Returns whether `tool` of `server` may be seen and called.
pub(crate) fn permits(permissions: &Permissions, server: &Server, tool: &str) -> bool {
    if server.denied_tools.iter().any(|denied| denied == tool) {
        return false;
    }
    if server.allowed_tools.as_ref().is_some_and(|allowed| !allowed.iter().any(|one| one == tool)) {
        return false;
    }
    let id = &server.key.id;
    if let Some(allowed) = permissions.rules.get(&(id.clone(), tool.to_owned())) {
        return *allowed;
    }
    !permissions.server_defaults.get(id).copied().unwrap_or(permissions.deny_by_default)
}

#[cfg(test)]
mod tests;
