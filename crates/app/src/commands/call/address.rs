//! Which tool is meant: `server__tool`, `server.tool`, `server/tool`, the tool's own name where one server has it, and
//! any of them with its arguments in brackets.

mod function;

#[cfg(test)]
mod tests;

use manifold_admin::ListedItem;

pub(crate) use function::FunctionError;

/// What stands between a server and what it offers.
const SEPARATORS: [&str; 3] = ["__", ".", "/"];

/// What was written for a tool.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) name: String,
    /// What stood in brackets, by name and JSON.
    pub(crate) arguments: Vec<(String, String)>,
}

/// Which of those there are is meant.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    One(&'a ListedItem),
    /// Several, by the names that tell them apart.
    Several(Vec<&'a str>),
    None,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, FunctionError> {
        let text = text.trim();
        match text.split_once('(') {
            Some((name, rest)) => {
                Ok(Self { name: name.trim().to_owned(), arguments: function::arguments(rest)? })
            }
            None => Ok(Self { name: text.to_owned(), arguments: Vec::new() }),
        }
    }

    /// Returns what every name it can mean contains: a word to search by.
    pub(crate) fn word(&self) -> &str {
        let last =
            |text: &'_ str| SEPARATORS.iter().filter_map(|cut| Some(text.rfind(cut)? + cut.len())).max();
        let word = &self.name[last(&self.name).unwrap_or(0)..];
        if word.is_empty() { &self.name } else { word }
    }

    /// Finds what is meant: as clients call it, else by server and own name, else by its own name.
    pub(crate) fn find<'a>(&self, items: &'a [ListedItem]) -> Found<'a> {
        if let Some(item) = items.iter().find(|item| item.name == self.name) {
            return Found::One(item);
        }
        let by_server: Vec<&ListedItem> = items.iter().filter(|item| self.names_server_of(item)).collect();
        let found = if by_server.is_empty() {
            items.iter().filter(|item| item.original == self.name).collect()
        } else {
            by_server
        };
        match found.as_slice() {
            [] => Found::None,
            [one] => Found::One(one),
            several => Found::Several(several.iter().map(|item| item.name.as_str()).collect()),
        }
    }

    /// Returns whether it names something of this server's.
    pub(crate) fn is_of(&self, server: &str) -> bool {
        let short = server.rsplit('/').next().unwrap_or(server);
        let rest = self.name.strip_prefix(server).or_else(|| self.name.strip_prefix(short));
        rest.is_some_and(|rest| SEPARATORS.iter().any(|cut| rest.starts_with(cut)))
    }

    fn names_server_of(&self, item: &ListedItem) -> bool {
        let Some(server) = self.name.strip_suffix(item.original.as_str()) else { return false };
        // A server is also known by its id without its schema's.
        let short = item.server.rsplit('/').next().unwrap_or(&item.server);
        SEPARATORS
            .iter()
            .filter_map(|cut| server.strip_suffix(cut))
            .any(|id| id == item.server || id == short)
    }
}
