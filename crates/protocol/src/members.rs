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
    /// Members whose own members have meaning, too, and a bit for each of them.
    inner: &'static [(&'static str, &'static Members)],
    has_inner: u64,
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
        let (mut has_inner, mut at) = (0, 0);
        while at < names.len() {
            let mut one = 0;
            while one < inner.len() {
                if is_same(inner[one].0.as_bytes(), names[at].as_bytes()) {
                    has_inner |= 1 << at;
                }
                one += 1;
            }
            at += 1;
        }
        Self { names, starts, rule, inner, has_inner }
    }

    /// Returns what is wrong with the keys of an object, if it is one and anything is.
    pub fn flaw(&'static self, object: &Raw) -> Option<Flaw> {
        let mut flaw = None;
        // It was scanned before, so it has no end before its end.
        let _ = self.pass(&mut object.cursor(), &mut flaw);
        flaw
    }

    /// Passes a value; if it is an object, looks at its keys on the way. The first flaw of all is noted.
    pub(crate) fn pass(
        &'static self,
        cursor: &mut Cursor<'_>,
        flaw: &mut Option<Flaw>,
    ) -> Result<(), ScanError> {
        if cursor.peek() != Some(b'{') {
            return cursor.value();
        }
        let mut watch = Watch::new(self);
        let mut first = true;
        cursor.enter()?;
        while let Some(key) = cursor.next_key(first)? {
            first = false;
            let found = watch.add(cursor.name(&key), flaw);
            match found.filter(|at| self.has_inner >> at & 1 == 1).and_then(|at| self.inner_of(at)) {
                Some(inner) => inner.pass(cursor, flaw)?,
                None => cursor.value()?,
            }
        }
        Ok(())
    }

    fn inner_of(&self, at: usize) -> Option<&'static Members> {
        let name = self.names.get(at)?;
        self.inner.iter().find(|(one, _)| one == name).map(|(_, inner)| *inner)
    }

    /// Finds the name that a key is.
    #[inline]
    fn find_exact(&self, key: &[u8]) -> Option<usize> {
        let start = usize::from(*self.starts.get(key.len())?);
        let first = key.first()?;
        let mut at = start;
        // Those of its length are few, and most differ in their first letter.
        while let Some(name) = self.names.get(at).filter(|name| name.len() == key.len()) {
            if name.as_bytes().first() == Some(first) && name.as_bytes() == key {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// Finds the name that a key is spelled like but for its case.
    fn find_variant(&self, key: &[u8]) -> Option<usize> {
        if key.is_ascii() {
            return self.names.iter().position(|name| name.as_bytes().eq_ignore_ascii_case(key));
        }
        if key.len() > 3 * LONGEST {
            return None;
        }
        // The only ones that Unicode's simple folding, which Go goes by, makes letters of ASCII.
        let letters = std::str::from_utf8(key).ok()?.chars().map(|letter| match letter {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            other => other,
        });
        let folded: String = letters.collect();
        self.names.iter().position(|name| name.eq_ignore_ascii_case(&folded))
    }
}

impl Members {
    fn variant(&self, at: usize) -> Flaw {
        Flaw::Variant { of: self.names.get(at).copied().unwrap_or_default() }
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
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

    /// Takes the next key. Returns which member it is, if it has meaning; the first flaw of all is noted.
    #[inline]
    pub(crate) fn add(&mut self, key: Cow<'a, [u8]>, flaw: &mut Option<Flaw>) -> Option<usize> {
        let Some(at) = self.members.find_exact(&key) else {
            self.add_other(key, flaw);
            return None;
        };
        let bit = 1 << at;
        if (self.exact | self.variant) & bit != 0 {
            let is_twice = self.exact & bit != 0;
            flaw.get_or_insert(if is_twice { Flaw::Twice } else { self.members.variant(at) });
        }
        self.exact |= bit;
        Some(at)
    }

    /// Takes a key that is none with meaning, but may be spelled like one.
    #[inline(never)]
    fn add_other(&mut self, key: Cow<'a, [u8]>, flaw: &mut Option<Flaw>) {
        let wrong = match (self.members.find_variant(&key), self.members.rule) {
            (Some(at), rule) => {
                self.variant |= 1 << at;
                let is_wrong = match rule {
                    Rule::Exact => true,
                    Rule::Pairs { own } => {
                        self.exact >> at & 1 == 1
                            || self.members.names.get(at).is_some_and(|name| own.contains(name))
                    }
                };
                is_wrong.then(|| self.members.variant(at))
            }
            (None, Rule::Exact) => self.others.get_or_insert_default().add(key),
            (None, Rule::Pairs { .. }) => None,
        };
        *flaw = flaw.or(wrong);
    }
}
