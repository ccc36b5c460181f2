//! A namespace put together from the config and the fleet.

use std::sync::Arc;

use manifold_config::{ErrorCodes, ServerKey, Settings};

use super::Opening;
use crate::audience::{Audience, Downstream};
use crate::catalog::{Member, Naming, View};
use crate::exchange::Target;
use crate::fleet::{Fleet, InstanceKey, Slot};
use crate::upstream::Upstream;

/// Puts the namespace together as the config now has it. Its servers are used from now on, and no others.
pub(super) fn view(
    fleet: &Fleet,
    opening: &Opening,
    manager: &Arc<dyn Upstream>,
    downstream: &Arc<Downstream>,
) -> View {
    let config = fleet.config();
    let settings = &config.settings;
    let slots = fleet.slots();
    let namespace = opening.namespace.as_ref().map(|id| config.namespaces.iter().find(|one| one.id == *id));
    let chosen: Vec<Slot> = match namespace {
        None => slots.iter().cloned().collect(),
        Some(None) => Vec::new(),
        Some(Some(namespace)) => {
            namespace.servers.iter().filter_map(|key| fleet.find(key, InstanceKey::DEFINED)).collect()
        }
    };
    fleet.used_by(downstream, &chosen);
    let (call_timeout, has_manager) = match opening.audience {
        Audience::One => {
            (settings.stdio_timeout.unwrap_or(settings.call_timeout), settings.manager_tools_stdio)
        }
        Audience::Shared => (settings.call_timeout, settings.manager_tools_http),
    };
    let mut members: Vec<Member> = chosen
        .into_iter()
        .map(|slot| Member {
            key: slot.server.key.clone(),
            exposed_id: slot.server.exposed_id.clone(),
            description_prefix: settings
                .prefix_descriptions
                .then(|| format!("[{}]", slot.server.display_name)),
            target: Arc::new(Target {
                server: slot.server.key.id.clone(),
                tool: None,
                timeout: slot.server.call_timeout.unwrap_or(call_timeout),
            }),
            upstream: slot.upstream,
            standing: slot.standing,
            users: slot.users,
            server: Some(slot.server),
        })
        .collect();
    if has_manager {
        members.push(manager_member(settings, manager));
    }
    View {
        members,
        naming: Naming { separator: settings.separator.clone(), max_length: settings.max_name_length },
        prefix_prompts: settings.prefix_prompts,
        validate: settings.validate_arguments,
        permissions: namespace.flatten().map(|namespace| namespace.permissions.clone()).unwrap_or_default(),
        names_unknown_servers: settings.error_codes == ErrorCodes::Own,
    }
}

/// The manager as a member: its exposed id is the whole prefix, separator included (decision 32).
fn manager_member(settings: &Settings, manager: &Arc<dyn Upstream>) -> Member {
    let separator = if settings.separator.is_empty() { "__" } else { &settings.separator };
    let name = &settings.server_name;
    Member {
        key: ServerKey { schema: None, id: name.clone() },
        exposed_id: format!("{name}{separator}"),
        description_prefix: None,
        upstream: Arc::clone(manager),
        standing: Arc::default(),
        users: Arc::default(),
        target: Arc::new(Target { server: name.clone(), tool: None, timeout: settings.call_timeout }),
        server: None,
    }
}
