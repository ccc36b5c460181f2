//! A namespace put together from the config and the fleet.

use std::sync::Arc;
use std::time::Duration;

use manifold_config::{
    Config, ErrorCodes, Namespace, Permissions, PromptPrefix, Server, ServerKey, Settings, ValidateArguments,
};

use super::Opening;
use crate::audience::{Audience, Downstream};
use crate::catalog::{Member, Naming, View};
use crate::exchange::{Reach, Target};
use crate::fleet::{Fleet, Outgrown, Slot, Wanted};
use crate::resolution::{Resolution, ResolvedServer};
use crate::upstream::Upstream;

/// Who asks for what.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) opening: &'a Opening,
    pub(super) resolution: Option<&'a Resolution>,
    pub(super) manager: &'a Arc<dyn Upstream>,
    pub(super) downstream: &'a Arc<Downstream>,
}

/// Puts the namespace together as the config now has it. Its servers are used from now on, and no others.
pub(super) fn view(fleet: &Fleet, asking: Asking<'_>, outgrown: Outgrown) -> View {
    let Asking { opening, manager, downstream, .. } = asking;
    let config = fleet.config();
    let settings = &config.settings;
    if let Some(key) = &opening.alone {
        return alone(fleet, key, asking, outgrown);
    }
    let namespace = opening.namespace.as_ref().map(|id| config.namespaces.iter().find(|one| one.id == *id));
    let mut wanted = wanted(&config, namespace, asking);
    if let Some(Some(namespace)) = namespace {
        wanted.iter_mut().for_each(|one| one.by_account(&namespace.accounts));
    }
    let chosen = fleet.use_instances(downstream, &wanted, outgrown);
    let (call_timeout, has_manager) = match opening.audience {
        Audience::One => {
            (settings.stdio_timeout.unwrap_or(settings.call_timeout), settings.manager_tools_stdio)
        }
        Audience::Shared => (settings.call_timeout, settings.manager_tools_http),
    };
    let members = wanted.into_iter().zip(chosen);
    let mut members: Vec<Member> =
        members.map(|(wanted, slot)| member(wanted.server, slot, settings, call_timeout)).collect();
    if has_manager {
        members.push(manager_member(settings, manager));
    }
    View {
        members,
        naming: Naming {
            separator: settings.separator.clone(),
            max_length: settings.max_name_length,
            keeps_names: false,
        },
        prefix_prompts: settings.prefix_prompts,
        validate: settings.validate_arguments,
        permissions: namespace.flatten().map(|namespace| namespace.permissions.clone()).unwrap_or_default(),
        names_unknown_servers: settings.error_codes == ErrorCodes::Own,
    }
}

/// Shows one server as it shows itself. Whoever asks has asked its own rules before.
fn alone(fleet: &Fleet, key: &ServerKey, asking: Asking<'_>, outgrown: Outgrown) -> View {
    let config = fleet.config();
    let found = config.servers.iter().filter(|server| server.key == *key);
    let wanted: Vec<Wanted> = found
        .map(|server| Wanted::defined(server, asking.opening.audience, asking.downstream.id()))
        .collect();
    let chosen = fleet.use_instances(asking.downstream, &wanted, outgrown);
    let own = |(wanted, slot): (Wanted, Slot)| Member {
        exposed_id: String::new(),
        description_prefix: None,
        ..member(wanted.server, slot, &config.settings, config.settings.call_timeout)
    };
    View {
        members: wanted.into_iter().zip(chosen).map(own).collect(),
        naming: Naming::own(),
        prefix_prompts: PromptPrefix::Never,
        validate: ValidateArguments::Off,
        permissions: Permissions::default(),
        names_unknown_servers: false,
    }
}

/// Returns which instances of which servers are shown, in order.
fn wanted(config: &Config, namespace: Option<Option<&Namespace>>, asking: Asking<'_>) -> Vec<Wanted> {
    let (audience, user) = (asking.opening.audience, asking.downstream.id());
    let defined = |server: &Server| Wanted::defined(server, audience, user);
    let session = asking.opening.session.as_ref();
    let resolved = |server: &ResolvedServer| Wanted::resolved(server, audience, user, session);
    match (asking.resolution, namespace) {
        (_, Some(None)) => Vec::new(),
        (None, None) => config.servers.iter().map(defined).collect(),
        (None, Some(Some(namespace))) => {
            let find = |key: &ServerKey| config.servers.iter().find(|server| server.key == *key);
            namespace.servers.iter().filter_map(find).map(defined).collect()
        }
        (Some(resolution), None) => resolution.servers.iter().map(resolved).collect(),
        (Some(resolution), Some(Some(namespace))) => {
            namespace.servers.iter().filter_map(|key| resolution.find(key)).map(resolved).collect()
        }
    }
}

/// Labels are those of whoever asks, though the instance may have been made for another.
fn member(server: Arc<Server>, slot: Slot, settings: &Settings, call_timeout: Duration) -> Member {
    Member {
        key: server.key.clone(),
        exposed_id: server.exposed_id.clone(),
        description_prefix: settings.prefix_descriptions.then(|| format!("[{}]", server.display_name)),
        target: Arc::new(Target {
            server: server.key.id.clone(),
            tool: None,
            timeout: server.call_timeout.unwrap_or(call_timeout),
            reach: Reach::of(&server.transport),
        }),
        upstream: slot.upstream,
        standing: slot.standing,
        users: slot.users,
        server: Some(server),
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
        target: Arc::new(Target {
            server: name.clone(),
            tool: None,
            timeout: settings.call_timeout,
            reach: Reach::Inside,
        }),
        server: None,
    }
}
