//! From the name a client uses to the server that answers, and the call on its way there.

use manifold_config::ValidateArguments;
use manifold_protocol::{Fault, Raw};

use crate::catalog::{Catalog, Member, ToolRoute, may_be_hashed, readings};
use crate::principal::Principal;
use crate::upstream::Phase;

/// What a tool's name leads to.
pub(crate) enum Found<'c> {
    Tool(&'c ToolRoute),
    /// A known server whose list is not known: it will say itself whether it has the tool.
    Unlisted {
        member: usize,
        original: String,
    },
    /// Only the list of these servers can tell.
    AskFirst(Vec<usize>),
    /// Only the lists of all servers can tell.
    AskAll,
}

/// Finds a tool (decision 6): the advertised name, then a known server's id before any separator, then a bare
/// name that only one server has. `asked` says that unknown lists were asked for already. What is hidden from whoever
/// asks is answered like what nobody has.
pub(crate) fn find_tool<'c>(
    catalog: &'c Catalog,
    principal: &Principal,
    name: &str,
    asked: bool,
) -> Result<Found<'c>, Fault> {
    let is_shown = |route: &&ToolRoute| route.is_shown_to(principal);
    if let Some(route) = catalog.tool(name).filter(is_shown) {
        return Ok(Found::Tool(route));
    }
    let readings = read(catalog, name);
    for (member, rest) in &readings {
        if let Some(route) = catalog.tool_of(*member, rest).filter(is_shown) {
            return Ok(Found::Tool(route));
        }
    }
    let unlisted = |member: &usize| catalog.member(*member).upstream.listing().is_none();
    // A hash can only be read back, and arguments only be checked, with the list at hand.
    let needs_list = may_be_hashed(name) || catalog.view.validate != ValidateArguments::Off;
    // Where some are denied, another spelling may be one of them to the server: only listed names are told apart (B5).
    let is_guarded = |member: usize, rest: &str| {
        catalog.denies_tools(member) && catalog.permits_unlisted_tool(member, rest)
    };
    if !asked {
        let asked = readings.iter().filter(|(member, rest)| needs_list || is_guarded(*member, rest));
        let asked: Vec<usize> = asked.map(|(member, _)| *member).filter(unlisted).collect();
        if !asked.is_empty() {
            return Ok(Found::AskFirst(asked));
        }
    }
    if let Some((member, rest)) = readings.iter().find(|(member, _)| unlisted(member)) {
        return match catalog.permits_unlisted_tool(*member, rest) {
            true if catalog.denies_tools(*member) => Err(why_unlisted(catalog.member(*member))),
            true => Ok(Found::Unlisted { member: *member, original: (*rest).to_owned() }),
            false => Err(unknown_tool_of(catalog, *member, rest)),
        };
    }
    if let Some(route) = catalog.bare_tool(name).filter(is_shown) {
        return Ok(Found::Tool(route));
    }
    match readings.first() {
        Some((member, rest)) => Err(unknown_tool_of(catalog, *member, rest)),
        // A bare name may be any server's own.
        None if !asked && is_bare(catalog, name) && catalog.may_have_more(name) => Ok(Found::AskAll),
        None => Err(unknown_tool(catalog, name)),
    }
}

/// Returns what is said of a tool that nobody has.
pub(crate) fn not_there(catalog: &Catalog, name: &str) -> Fault {
    match read(catalog, name).first() {
        Some((member, rest)) => unknown_tool_of(catalog, *member, rest),
        None => unknown_tool(catalog, name),
    }
}

/// Returns every way to read a name as a known server's id and what follows it.
fn read<'n>(catalog: &Catalog, name: &'n str) -> Vec<(usize, &'n str)> {
    let ids = catalog.view.members.iter().enumerate();
    let ids =
        ids.filter(|(_, member)| member.server.is_some()).map(|(at, member)| (at, member.exposed_id.clone()));
    readings(name, &catalog.view.naming.separator, ids)
}

/// Returns why the list of a server is not known that was asked for it.
pub(crate) fn why_unlisted(member: &Member) -> Fault {
    let not_running =
        |reason: &str| Fault::NotRunning { server: member.key.id.clone(), reason: reason.to_owned() };
    match member.upstream.status().phase {
        Phase::Failed(fault) => fault,
        Phase::Stopped => not_running("it was stopped; use the servers_start tool to start it"),
        Phase::Idle | Phase::Starting | Phase::Ready => {
            not_running("its tools are not known yet; try again in a moment")
        }
    }
}

fn is_bare(catalog: &Catalog, name: &str) -> bool {
    let separator = catalog.view.naming.separator.as_str();
    separator.is_empty() || !name.contains(separator)
}

fn unknown_tool_of(catalog: &Catalog, member: usize, tool: &str) -> Fault {
    Fault::UnknownToolOf { server: catalog.member(member).key.id.clone(), tool: tool.to_owned() }
}

fn unknown_tool(catalog: &Catalog, name: &str) -> Fault {
    let separator = &catalog.view.naming.separator;
    if catalog.view.names_unknown_servers
        && !separator.is_empty()
        && let Some((server, tool)) = name.split_once(separator.as_str())
        && !server.is_empty()
        // A manager name that does not exist is an unknown tool, not an unknown server.
        && !catalog.view.members.iter().any(|member| member.exposed_id.trim_end_matches(separator) == server)
    {
        return Fault::UnknownServer { server: server.to_owned(), tool: tool.to_owned() };
    }
    Fault::UnknownTool(name.to_owned())
}

/// Rewrites the URIs of a read result to the one the client asked for: only needed where two servers claim one.
pub(crate) fn rename_contents(result: &Raw, original: &str, exposed: &str) -> Raw {
    let renamed = || {
        let mut object = result.object()?;
        let contents = object.get("contents")?.elements()?;
        let contents: Vec<Raw> = contents
            .into_iter()
            .map(|content| match content.get("uri").as_ref().and_then(|uri| uri.to_text()) {
                Some(uri) if uri == original => {
                    let Some(mut renamed) = content.object() else { return content.clone() };
                    renamed.set("uri", Raw::string(exposed));
                    renamed.into_raw()
                }
                _ => content.clone(),
            })
            .collect();
        object.set("contents", Raw::array(&contents));
        Some(object.into_raw())
    };
    renamed().unwrap_or_else(|| result.clone())
}

#[cfg(test)]
mod tests;
