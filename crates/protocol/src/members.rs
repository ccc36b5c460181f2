//! The members that have meaning to us, and their doubles.
//!
//! A reader that does not regard case, as Go's `encoding/json` does not, takes `NAME` for `name`: what we decided by the
//! one must not reach it with the other. So no member with meaning may stand in an object twice, however it is spelled
//! (T9, H2). What lies deeper (arguments, schemas, content) is not looked into.

mod keys;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::raw::Raw;
use crate::scan::{Cursor, ScanError};
use keys::Keys;

/// What is wrong with the keys of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("a member occurs twice")]
    Twice,
    #[error("too many members")]
    TooMany,
    #[error(
        "a member differs from `{of}` only in upper and lower case; readers would not agree on which one counts"
    )]
    Variant { of: &'static str },
}

/// The members with meaning in one kind of object.
pub struct Members {
    /// The shortest first.
    names: &'static [&'static str],
    /// Where the names of each length begin among them.
    starts: [u8; LONGEST + 2],
    rule: Rule,
    /// Members whose own members have meaning, too.
    inner: &'static [(&'static str, &'static Members)],
}

#[derive(Clone, Copy)]
enum Rule {
    /// What is passed on with our word for it: nothing but the exact spelling, and no key twice, ours or not.
    Exact,
    /// What a peer says of itself: two that could be taken for one another, or any of these, which we write ourselves,
    /// in another spelling.
    Pairs { own: &'static [&'static str] },
}

const LONGEST: usize = 48;

/// `{"jsonrpc":"2.0","id":…}`: what stands around a message.
pub static ENVELOPE: Members = Members::new(
    &["id", "error", "method", "params", "result", "jsonrpc"],
    Rule::Exact,
    &[("params", &PARAMS), ("result", &RESULT), ("error", &ERROR)],
);

/// The parameters of a request or a notification.
pub static PARAMS: Members = Members::new(
    &[
        "uri",
        "ref",
        "url",
        "name",
        "task",
        "mode",
        "_meta",
        "level",
        "tools",
        "taskId",
        "cursor",
        "reason",
        "progress",
        "arguments",
        "requestId",
        "clientInfo",
        "requestState",
        "capabilities",
        "progressToken",
        "elicitationId",
        "notifications",
        "inputResponses",
        "includeContext",
        "protocolVersion",
    ],
    Rule::Exact,
    &[("_meta", &META), ("ref", &REFERENCE), ("notifications", &FILTER)],
);

static META: Members = Members::new(
    &[
        "progressToken",
        "io.modelcontextprotocol/logLevel",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/serverInfo",
        "io.modelcontextprotocol/subscriptionId",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
    ],
    Rule::Exact,
    &[],
);

static REFERENCE: Members = Members::new(&["uri", "type", "name"], Rule::Exact, &[]);

static FILTER: Members = Members::new(
    &["taskIds", "toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"],
    Rule::Exact,
    &[],
);

/// A result, of a server or of a client that was asked.
pub(crate) static RESULT: Members = Members::new(
    RESULT_NAMES,
    Rule::Pairs { own: &["_meta", "ttlMs", "resultType", "cacheScope"] },
    &[("_meta", &RESULT_META), ("task", &TASK), ("result", &TASK_RESULT)],
);

/// What a call came to (`content`, `structuredContent`, `contents`, `messages`) is the box, not the label.
const RESULT_NAMES: &[&str] = &[
    "task",
    "_meta",
    "tools",
    "ttlMs",
    "error",
    "action",
    "taskId",
    "status",
    "result",
    "prompts",
    "resources",
    "resultType",
    "nextCursor",
    "cacheScope",
    "serverInfo",
    "requestState",
    "capabilities",
    "instructions",
    "inputRequests",
    "statusMessage",
    "protocolVersion",
    "resourceTemplates",
    "supportedVersions",
];

static RESULT_META: Members = Members::new(
    &["io.modelcontextprotocol/serverInfo", "io.modelcontextprotocol/subscriptionId"],
    Rule::Pairs { own: &["io.modelcontextprotocol/serverInfo", "io.modelcontextprotocol/subscriptionId"] },
    &[],
);

static TASK: Members = Members::new(&["taskId", "status"], Rule::Pairs { own: &[] }, &[]);

/// The result of a call in that of a request about its task.
static TASK_RESULT: Members = Members::new(
    RESULT_NAMES,
    Rule::Pairs { own: &["_meta", "ttlMs", "resultType", "cacheScope"] },
    &[("_meta", &RESULT_META)],
);

/// An error of a server or a client.
pub(crate) static ERROR: Members = Members::new(&["code", "data", "message"], Rule::Pairs { own: &[] }, &[]);

/// A question of a server within a result.
pub(crate) static QUESTION: Members =
    Members::new(&["method", "params"], Rule::Exact, &[("params", &PARAMS)]);

/// A tool, a resource, a template or a prompt in its list.
pub static ITEM: Members = Members::new(
    &["uri", "name", "_meta", "execution", "description", "inputSchema", "uriTemplate", "outputSchema"],
    Rule::Pairs { own: &[] },
    &[],
);

/// LiteMCP's messages and what they hold.
pub(crate) mod litemcp {
    use super::{Members, Rule};

    pub(crate) static MESSAGE: Members = Members::new(&["id", "data", "type", "version"], Rule::Exact, &[]);
    pub(crate) static CALL: Members = Members::new(&["tool", "version", "arguments"], Rule::Exact, &[]);
    pub(crate) static TOOL: Members =
        Members::new(&["name", "version", "parameters", "description"], Rule::Pairs { own: &[] }, &[]);
    pub(crate) static RESULT: Members = Members::new(
        &["params", "version", "response"],
        Rule::Pairs { own: &[] },
        &[("response", &RESPONSE)],
    );
    static RESPONSE: Members = Members::new(&["error", "content"], Rule::Pairs { own: &[] }, &[]);
}

impl Members {
    const fn new(
        names: &'static [&'static str],
        rule: Rule,
        inner: &'static [(&'static str, &'static Members)],
    ) -> Self {
        let mut starts = [0; LONGEST + 2];
        let (mut at, mut len) = (0, 0);
        while len < starts.len() {
            while at < names.len() && names[at].len() < len {
                at += 1;
            }
            starts[len] = at as u8;
            len += 1;
        }
        // Each has a bit of its own, and the search goes by length.
        assert!(at == names.len() && at <= 64, "too many names, or not the shortest first");
        Self { names, starts, rule, inner }
    }

    /// Returns what is wrong with the keys of an object, if it is one and anything is.
    pub fn flaw(&'static self, object: &Raw) -> Option<Flaw> {
        // It was scanned before, so it has no end before its end.
        self.pass(&mut object.cursor()).ok().flatten()
    }

    /// Passes a value; if it is an object, looks at its keys on the way.
    pub(crate) fn pass(&'static self, cursor: &mut Cursor<'_>) -> Result<Option<Flaw>, ScanError> {
        if cursor.peek() != Some(b'{') {
            return cursor.value().map(|()| None);
        }
        let mut watch = Watch::new(self);
        let mut flaw = None;
        let mut first = true;
        cursor.enter()?;
        while let Some(key) = cursor.next_key(first)? {
            first = false;
            let (found, wrong) = watch.add(cursor.name(&key));
            flaw = flaw.or(wrong);
            match self.inner_of(found) {
                Some(inner) => {
                    let wrong = inner.pass(cursor)?;
                    flaw = flaw.or(wrong);
                }
                None => cursor.value()?,
            }
        }
        Ok(flaw)
    }

    fn inner_of(&self, found: Option<&'static str>) -> Option<&'static Members> {
        let found = found?;
        self.inner.iter().find(|(name, _)| *name == found).map(|(_, inner)| *inner)
    }

    /// Finds the name that a key is spelled like, in whatever case.
    #[inline]
    fn find(&self, key: &[u8]) -> Option<usize> {
        let of_len =
            |len: usize| Some(usize::from(*self.starts.get(len)?)..usize::from(*self.starts.get(len + 1)?));
        let range = of_len(key.len()).unwrap_or_default();
        let start = range.start;
        let first = key.first()? | 0x20;
        for (at, name) in (start..).zip(self.names.get(range)?) {
            let name = name.as_bytes();
            // Most differ in their first letter.
            if name.first().is_some_and(|one| one | 0x20 == first)
                && (name == key || name.eq_ignore_ascii_case(key))
            {
                return Some(at);
            }
        }
        if key.is_ascii() || key.len() > 3 * LONGEST { None } else { self.find_folded(key) }
    }

    /// Finds a name in a key that has other letters than ASCII's.
    #[cold]
    fn find_folded(&self, key: &[u8]) -> Option<usize> {
        // The only ones that Unicode's simple folding, which Go goes by, makes letters of ASCII.
        let folded: String = std::str::from_utf8(key)
            .ok()?
            .chars()
            .map(|letter| match letter {
                '\u{17f}' => 's',
                '\u{212a}' => 'k',
                other => other.to_ascii_lowercase(),
            })
            .collect();
        self.names.iter().position(|name| name.eq_ignore_ascii_case(&folded))
    }
}

/// Looks at the keys of one object as they come.
pub(crate) struct Watch<'a> {
    members: &'static Members,
    /// A bit for each name that was there in its own spelling, and in another.
    exact: u64,
    variant: u64,
    /// Those without, made with the first of them.
    others: Option<Keys<'a>>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(members: &'static Members) -> Self {
        Self { members, exact: 0, variant: 0, others: None }
    }

    /// Takes the next key. Returns which member it is, if it has meaning, and what is wrong with it.
    #[inline]
    pub(crate) fn add(&mut self, key: Cow<'a, [u8]>) -> (Option<&'static str>, Option<Flaw>) {
        let Some(at) = self.members.find(&key) else {
            return match self.members.rule {
                Rule::Exact => (None, self.others.get_or_insert_default().add(key)),
                Rule::Pairs { .. } => (None, None),
            };
        };
        let (bit, name) = (1 << at, self.members.names.get(at).copied().unwrap_or_default());
        if *key == *name.as_bytes() {
            let twice = (self.exact & bit != 0).then_some(Flaw::Twice);
            let mixed = (self.variant & bit != 0).then_some(Flaw::Variant { of: name });
            self.exact |= bit;
            return (Some(name), twice.or(mixed));
        }
        self.variant |= bit;
        let is_wrong = match self.members.rule {
            Rule::Exact => true,
            Rule::Pairs { own } => self.exact & bit != 0 || own.contains(&name),
        };
        (None, is_wrong.then_some(Flaw::Variant { of: name }))
    }
}
