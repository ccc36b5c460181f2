//! What a credential lets its bearer use, beside what the namespace permits. Who brings none that restricts has no
//! grants at all, and nothing of this is looked at.

use std::sync::Arc;

use manifold_config::Grant;
use manifold_protocol::Kind;

use crate::gateway::has_shape;

/// The name by which all servers together are granted, where no namespace is served.
const ALL_SERVERS: &str = "default";

/// What somebody may use, and what further scopes would add to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// Each is enough by itself.
    given: Vec<Grant>,
    /// What scopes would give that the credential does not have.
    by_scope: Vec<(Arc<str>, Grant)>,
    /// The scopes that every call needs, told beside the one that is missing.
    required: Vec<Arc<str>>,
}

/// What becomes of a wish to use something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Granted,
    /// It is there, and needs these scopes.
    NeedsScope(Vec<Arc<str>>),
    /// It is not there.
    Hidden,
}

/// What is wished for in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish<'n> {
    /// To come in at all.
    Enter,
    /// A tool, by the name that clients see.
    Tool(&'n str),
    /// Prompts, resources and what else has no name here: only who may use all tools may use them.
    Other,
}

impl Grants {
    /// Returns the grants of a token that may use just this.
    pub fn only(grant: Grant) -> Self {
        Self { given: vec![grant], ..Self::default() }
    }

    /// Returns the grants of a token with scopes: what they give, and what the others would.
    pub fn scoped(given: Vec<Grant>, by_scope: Vec<(Arc<str>, Grant)>, required: Vec<Arc<str>>) -> Self {
        Self { given, by_scope, required }
    }

    /// Returns what is left of them in some namespaces.
    #[must_use]
    pub fn within(self, namespaces: &[String]) -> Self {
        let left = |grant: Grant| {
            let is_granted =
                |name: &&String| grant.namespaces.as_ref().is_none_or(|granted| granted.contains(*name));
            let left = namespaces.iter().filter(is_granted).cloned().collect();
            Grant { namespaces: Some(left), ..grant }
        };
        let by_scope = self.by_scope.into_iter().map(|(scope, grant)| (scope, left(grant)));
        Self { by_scope: by_scope.collect(), given: self.given.into_iter().map(left).collect(), ..self }
    }

    /// Returns whether nothing is kept from whoever has them.
    pub fn is_everything(&self) -> bool {
        self.given.iter().any(|grant| grant.namespaces.is_none() && grant.tools.is_none())
    }

    /// Decides about a wish in a namespace; `None` is that of all servers.
    pub fn access(&self, namespace: Option<&str>, wish: Wish<'_>) -> Access {
        let namespace = namespace.unwrap_or(ALL_SERVERS);
        if self.given.iter().any(|grant| gives(grant, namespace, wish)) {
            return Access::Granted;
        }
        // One that names what it gives asks for less than one that gives everything.
        let giving = || self.by_scope.iter().filter(|(_, grant)| gives(grant, namespace, wish));
        let least = giving().find(|(_, grant)| grant.tools.is_some()).or_else(|| giving().next());
        match least {
            Some((scope, _)) => {
                let mut scopes = self.required.clone();
                if !scopes.contains(scope) {
                    scopes.push(Arc::clone(scope));
                }
                Access::NeedsScope(scopes)
            }
            None => Access::Hidden,
        }
    }

    /// Returns whether an item is shown in lists: what needs a scope is, so that it can be asked for.
    pub(crate) fn shows(&self, namespace: Option<&str>, kind: Kind, name: &str) -> bool {
        let wish = if kind == Kind::Tools { Wish::Tool(name) } else { Wish::Other };
        self.access(namespace, wish) != Access::Hidden
    }
}

fn gives(grant: &Grant, namespace: &str, wish: Wish<'_>) -> bool {
    let is_there = grant.namespaces.as_ref().is_none_or(|names| names.iter().any(|name| name == namespace));
    let has = match (&grant.tools, wish) {
        (None, _) | (_, Wish::Enter) => true,
        (Some(tools), Wish::Tool(name)) => {
            tools.iter().any(|pattern| has_shape(name.as_bytes(), pattern.as_bytes()))
        }
        (Some(_), Wish::Other) => false,
    };
    is_there && has
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(namespaces: Option<&[&str]>, tools: Option<&[&str]>) -> Grant {
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Grant { namespaces: namespaces.map(list), tools: tools.map(list) }
    }

    fn needs(scopes: &[&str]) -> Access {
        Access::NeedsScope(scopes.iter().map(|&scope| scope.into()).collect())
    }

    #[test]
    fn a_token_has_its_namespaces_and_tools_and_nothing_else() {
        let token = Grants::only(grant(Some(&["work"]), Some(&["git__*", "time"])));
        let check = |namespace, wish| token.access(namespace, wish);
        assert_eq!(check(Some("work"), Wish::Enter), Access::Granted);
        assert_eq!(check(Some("work"), Wish::Tool("git__push")), Access::Granted);
        assert_eq!(check(Some("work"), Wish::Tool("Git__push")), Access::Hidden, "names have a case");
        assert_eq!(check(Some("work"), Wish::Tool("time")), Access::Granted);
        assert_eq!(check(Some("work"), Wish::Tool("times")), Access::Hidden);
        assert_eq!(check(Some("work"), Wish::Other), Access::Hidden);
        for elsewhere in [Some("home"), None] {
            assert_eq!(check(elsewhere, Wish::Enter), Access::Hidden);
            assert_eq!(check(elsewhere, Wish::Tool("time")), Access::Hidden);
        }
        let everywhere = Grants::only(grant(None, Some(&[])));
        assert_eq!(everywhere.access(None, Wish::Enter), Access::Granted);
        assert_eq!(everywhere.access(None, Wish::Tool("time")), Access::Hidden, "an empty list is none");
        let all = Grants::only(grant(Some(&["default"]), None));
        assert_eq!(all.access(None, Wish::Other), Access::Granted, "all servers go by `default`");
    }

    #[test]
    fn what_is_left_within_namespaces_is_no_more_than_was_granted() {
        let names = ["work".to_owned(), "home".to_owned()];
        let all = Grants::only(Grant::default());
        assert!(all.is_everything());
        let left = all.within(&names);
        assert!(!left.is_everything());
        assert_eq!(left.access(Some("home"), Wish::Other), Access::Granted);
        assert_eq!(left.access(Some("both"), Wish::Enter), Access::Hidden);
        let by_scope = vec![("more".into(), grant(None, None))];
        let some = Grants::scoped(vec![grant(Some(&["work", "both"]), None)], by_scope, Vec::new());
        let left = some.within(&names);
        assert_eq!(left.access(Some("work"), Wish::Enter), Access::Granted);
        assert_eq!(left.access(Some("home"), Wish::Enter), needs(&["more"]));
        assert_eq!(left.access(Some("both"), Wish::Enter), Access::Hidden);
    }

    #[test]
    fn what_needs_another_scope_is_shown_and_asks_for_the_least() {
        let by_scope = vec![
            ("all".into(), grant(None, None)),
            ("write".into(), grant(Some(&["work"]), Some(&["*write*"]))),
        ];
        let required = vec!["mcp".into()];
        let reader = Grants::scoped(vec![grant(None, Some(&["*read*"]))], by_scope, required);
        assert_eq!(reader.access(Some("work"), Wish::Tool("fs__read")), Access::Granted);
        assert_eq!(reader.access(Some("work"), Wish::Tool("fs__write")), needs(&["mcp", "write"]));
        assert_eq!(reader.access(Some("home"), Wish::Tool("fs__write")), needs(&["mcp", "all"]));
        assert_eq!(reader.access(Some("work"), Wish::Other), needs(&["mcp", "all"]));
        assert!(
            reader.shows(Some("work"), Kind::Tools, "fs__write") && reader.shows(None, Kind::Prompts, "p")
        );
        let nobody = Grants::scoped(Vec::new(), Vec::new(), Vec::new());
        assert_eq!(nobody.access(None, Wish::Enter), Access::Hidden);
    }
}
