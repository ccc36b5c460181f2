//! What a server was told of who asks, which may decide what it offers.

use manifold_config::Server;
use manifold_protocol::{Era, Raw};

/// A set of client capabilities and the era they were told in, as the name of what the server offered then (D5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListingKey(String);

const LISTING: &str = "listing";
const MODERN: &str = " modern";

impl ListingKey {
    pub(crate) fn of(server: &Server, era: Era, capabilities: &Raw) -> Self {
        let mut names = names(capabilities);
        // Roots of its own in the config are declared whoever asks.
        if !server.roots.is_empty() && !names.iter().any(|name| name.starts_with("roots")) {
            names.push("roots".to_owned());
        }
        names.sort_unstable();
        let mut member = LISTING.to_owned();
        if era == Era::Modern {
            member.push_str(MODERN);
        }
        for name in names {
            member.push(' ');
            member.push_str(&name);
        }
        Self(member)
    }

    /// Returns the member of the server's file that holds what it offered.
    pub(super) fn member(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_of(&self, era: Era) -> bool {
        self.0[LISTING.len()..].starts_with(MODERN) == (era == Era::Modern)
    }

    /// Returns the set that a member of the server's file is for.
    pub(super) fn of_member(name: &str) -> Option<Self> {
        Self::is_member(name).then(|| Self(name.to_owned()))
    }

    pub(super) fn is_member(name: &str) -> bool {
        name.strip_prefix(LISTING).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

/// Returns a name as it can stand among others: a client chooses it, and must not forge another set by it.
fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
    let escape = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") };
    // It is our own word for the era.
    if name == MODERN.trim() { format!("%{name}") } else { name.bytes().map(escape).collect() }
}

/// Returns the names of what a client declares, `elicitation(form,url)`, in whatever order and with whatever else it says.
fn names(capabilities: &Raw) -> Vec<String> {
    let declared = |value: &Raw| value.bool() != Some(false) && value.as_str() != "null";
    let members = |value: &Raw| {
        let object = value.object().unwrap_or_default();
        let declared = object.iter().filter(|(_, value)| declared(value));
        declared.map(|(name, value)| (escaped(&name), value)).collect::<Vec<_>>()
    };
    let name = |(name, value): (String, Raw)| {
        let mut parts: Vec<String> = members(&value).into_iter().map(|(part, _)| part).collect();
        parts.sort_unstable();
        if parts.is_empty() { name } else { format!("{name}({})", parts.join(",")) }
    };
    members(capabilities).into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{raw, server};

    // D5
    #[test]
    fn sets_that_are_the_same_have_one_name() {
        let plain = server("");
        let name = |capabilities: &str| ListingKey::of(&plain, Era::Legacy, &raw(capabilities)).0;
        assert_eq!(name("{}"), "listing");
        assert_eq!(
            name(r#"{"sampling":{},"roots":{"listChanged":true}}"#),
            "listing roots(listChanged) sampling"
        );
        assert_eq!(
            name(r#"{"roots":{"listChanged":true},"sampling":{}}"#),
            "listing roots(listChanged) sampling"
        );
        assert_eq!(name(r#"{"roots":{"listChanged":false},"sampling":null}"#), "listing roots");
        assert_eq!(name(r#"{"elicitation":{"url":{},"form":{}}}"#), "listing elicitation(form,url)");
        assert_eq!(ListingKey::of(&plain, Era::Modern, &raw("{}")).0, "listing modern");
        assert_eq!(name(r#"{"modern":{}}"#), "listing %modern", "no capability is taken for an era");
        assert_eq!(name(r#"{"a b":{"c,d":{}}}"#), "listing a%20b(c%2cd)", "nor one for two");
        let rooted = server(r#","roots":["/tmp"]"#);
        assert_eq!(ListingKey::of(&rooted, Era::Legacy, &raw("{}")).0, "listing roots");
        assert!(
            ListingKey::is_member("listing")
                && ListingKey::is_member("listing modern")
                && !ListingKey::is_member("listings")
        );
    }
}
