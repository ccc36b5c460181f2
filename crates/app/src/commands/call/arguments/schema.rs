//! What a JSON Schema says of a value, as far as words of a command line can follow it. Nothing is fetched: a `$ref`
//! points into the same document, or says nothing.

use manifold_protocol::{Raw, RawObject};

/// Schemas refer to themselves; none is followed further than this.
const MAX_DEPTH: usize = 16;
/// Alternatives of alternatives multiply; more are not looked at.
const MAX_BRANCHES: usize = 64;
/// How many schemas are read to understand one.
const MAX_READ: usize = 256;
/// How many of them hold together.
const MAX_TOGETHER: usize = 32;

/// The kinds of values, in the order in which a text is tried as one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] =
        [Self::Null, Self::Boolean, Self::Integer, Self::Number, Self::String, Self::Array, Self::Object];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// One schema, or several of which a value may follow any. None at all allows everything.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    document: Raw,
    any: Vec<Raw>,
}

/// Objects of keywords that all hold together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Branch(Vec<RawObject>);

/// What a schema says of a member.
#[derive(Debug)]
pub(crate) enum Member {
    Declared(Schema),
    /// Not named, and not forbidden.
    Extra(Schema),
    Unknown,
}

impl Schema {
    pub(crate) fn new(document: Raw) -> Self {
        Self { any: vec![document.clone()], document }
    }

    /// Returns a schema that says nothing.
    pub(crate) fn silent() -> Self {
        Self { document: Raw::null(), any: Vec::new() }
    }

    fn within(&self, any: Vec<Raw>) -> Self {
        Self { document: self.document.clone(), any }
    }

    /// Returns the alternatives, with references followed.
    pub(crate) fn branches(&self) -> Vec<Branch> {
        let mut unread = MAX_READ;
        let mut branches: Vec<Branch> = Vec::new();
        for schema in &self.any {
            branches.extend(self.unfold(schema, MAX_DEPTH, &mut unread));
        }
        branches.truncate(MAX_BRANCHES);
        if branches.is_empty() {
            branches.push(Branch::default());
        }
        branches
    }

    fn unfold(&self, schema: &Raw, depth: usize, unread: &mut usize) -> Vec<Branch> {
        // `true` and `false` are schemas too; neither says of what kind a value is.
        let readable = schema.object().filter(|_| depth > 0 && *unread > 0);
        let Some(object) = readable else { return vec![Branch::default()] };
        *unread -= 1;
        let elements = |word: &str| object.get(word).and_then(|parts| parts.elements()).unwrap_or_default();
        let target = object.get("$ref").and_then(|reference| self.target(&reference));
        let together = target.into_iter().chain(elements("allOf")).map(|part| vec![part]);
        let choices = ["anyOf", "oneOf"].into_iter().map(elements).filter(|parts| !parts.is_empty());
        let mut branches = vec![Branch(vec![object.clone()])];
        for parts in together.chain(choices) {
            let mut alternatives = Vec::new();
            for part in &parts {
                alternatives.extend(self.unfold(part, depth - 1, unread));
            }
            let combined =
                branches.iter().flat_map(|branch| alternatives.iter().map(|also| branch.and(also)));
            branches = combined.take(MAX_BRANCHES).collect();
        }
        branches
    }

    /// Follows a JSON pointer within the document.
    fn target(&self, reference: &Raw) -> Option<Raw> {
        let reference = reference.to_text()?;
        let pointer = reference.strip_prefix('#')?;
        pointer.split('/').skip(1).try_fold(self.document.clone(), |found, step| {
            let step = step.replace("~1", "/").replace("~0", "~");
            match found.elements() {
                Some(elements) => elements.get(step.parse::<usize>().ok()?).cloned(),
                None => found.get(&step),
            }
        })
    }

    /// Returns the declared members in their order, each with whether it must be there.
    pub(crate) fn members(&self) -> Vec<(String, Schema, bool)> {
        let branches = self.branches();
        let mut names: Vec<String> = Vec::new();
        for name in branches.iter().flat_map(Branch::declared) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let required = |name: &String| branches.iter().all(|branch| branch.required().contains(name));
        let member = |name: String| {
            let schema = self.declared(&branches, &name);
            let required = required(&name);
            (name, schema, required)
        };
        names.into_iter().map(member).collect()
    }

    fn declared(&self, branches: &[Branch], name: &str) -> Schema {
        self.within(distinct(branches.iter().filter_map(|branch| branch.property(name))))
    }

    pub(crate) fn member(&self, name: &str) -> Member {
        let branches = self.branches();
        let declared = self.declared(&branches, name);
        if !declared.any.is_empty() {
            return Member::Declared(declared);
        }
        if branches.iter().any(Branch::is_open) {
            let extra = branches.iter().filter_map(|branch| branch.keyword("additionalProperties"));
            return Member::Extra(self.within(distinct(extra)));
        }
        Member::Unknown
    }

    /// Returns what must be there beside these, in the alternative that lacks least.
    pub(crate) fn missing(&self, given: &[&str]) -> Vec<String> {
        let lacks = |branch: &Branch| -> Vec<String> {
            let required = branch.required().into_iter();
            required.filter(|name| !given.contains(&name.as_str())).collect()
        };
        self.branches().iter().map(lacks).min_by_key(Vec::len).unwrap_or_default()
    }

    /// Returns what the elements of a list follow.
    pub(crate) fn items(&self) -> Schema {
        let branches = self.branches();
        self.within(distinct(branches.iter().filter_map(|branch| branch.keyword("items"))))
    }

    /// Returns whether values may be of this kind; where nothing is said, they may be of any.
    pub(crate) fn takes(&self, kind: Kind) -> bool {
        self.branches().iter().any(|branch| branch.is_silent() || branch.kinds().contains(&kind))
    }

    /// Returns the first word some alternative has for this keyword.
    pub(crate) fn text(&self, keyword: &str) -> Option<String> {
        let branches = self.branches();
        let found = branches.iter().find_map(|branch| branch.keyword(keyword))?;
        found.to_text().map(std::borrow::Cow::into_owned)
    }

    /// Returns the word the schema itself has for this keyword, whatever its alternatives say.
    pub(crate) fn own_text(&self, keyword: &str) -> Option<String> {
        self.any.iter().find_map(|schema| schema.get(keyword)?.to_text().map(std::borrow::Cow::into_owned))
    }

    /// Returns the value some alternative has for this keyword.
    pub(crate) fn value(&self, keyword: &str) -> Option<Raw> {
        self.branches().iter().find_map(|branch| branch.keyword(keyword))
    }
}

/// Keeps the first of those that are written alike.
fn distinct(found: impl Iterator<Item = Raw>) -> Vec<Raw> {
    let mut kept: Vec<Raw> = Vec::new();
    for schema in found {
        if !kept.iter().any(|known| known.as_bytes() == schema.as_bytes()) {
            kept.push(schema);
        }
    }
    kept
}

impl Branch {
    fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&other.0).take(MAX_TOGETHER).cloned().collect())
    }

    fn keyword(&self, name: &str) -> Option<Raw> {
        self.0.iter().find_map(|object| object.get(name))
    }

    /// Returns the kinds of values allowed; empty where nothing is said of them.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Option<Vec<Kind>> = None;
        for object in &self.0 {
            let Some(named) = object.get("type") else { continue };
            let words = named.elements().unwrap_or_else(|| vec![named]);
            let mut named: Vec<Kind> =
                words.iter().filter_map(|word| Kind::from_word(&word.to_text()?)).collect();
            if object.get("nullable").and_then(|nullable| nullable.bool()) == Some(true) {
                named.push(Kind::Null);
            }
            kinds = Some(match kinds {
                Some(kinds) => kinds.into_iter().filter(|kind| named.contains(kind)).collect(),
                None => named,
            });
        }
        kinds.unwrap_or_else(|| {
            let is_object = self.keyword("properties").is_some();
            let is_array = self.keyword("items").is_some() || self.keyword("prefixItems").is_some();
            let implied = [(is_object, Kind::Object), (is_array, Kind::Array)];
            implied.into_iter().filter(|(implied, _)| *implied).map(|(_, kind)| kind).collect()
        })
    }

    /// Returns the values of `enum` or `const`.
    pub(crate) fn options(&self) -> Option<Vec<Raw>> {
        let constant = self.keyword("const").map(|value| vec![value]);
        constant.or_else(|| self.keyword("enum")?.elements())
    }

    /// Returns those values, each with what it is called where people choose.
    pub(crate) fn titled_options(&self) -> Vec<(Raw, Option<String>)> {
        let text = |raw: &Raw| raw.to_text().map(std::borrow::Cow::into_owned);
        if let Some(object) = self.0.iter().find(|object| object.contains("const")) {
            let title = object.get("title").and_then(|title| text(&title));
            return object.get("const").into_iter().map(|value| (value, title.clone())).collect();
        }
        let Some(object) = self.0.iter().find(|object| object.contains("enum")) else { return Vec::new() };
        let names = object.get("enumNames").and_then(|names| names.elements()).unwrap_or_default();
        let mut names = names.iter().map(text);
        let values = object.get("enum").and_then(|values| values.elements()).unwrap_or_default();
        values.into_iter().map(|value| (value, names.next().flatten())).collect()
    }

    /// Returns whether nothing is said of the value.
    pub(crate) fn is_silent(&self) -> bool {
        self.kinds().is_empty() && self.options().is_none()
    }

    fn declared(&self) -> Vec<String> {
        let properties = self.0.iter().filter_map(|object| object.get("properties")?.object());
        properties.flat_map(|properties| properties.keys().map(Into::into).collect::<Vec<String>>()).collect()
    }

    fn property(&self, name: &str) -> Option<Raw> {
        self.0.iter().find_map(|object| object.get("properties")?.get(name))
    }

    fn required(&self) -> Vec<String> {
        let lists = self.0.iter().filter_map(|object| object.get("required")?.elements());
        let mut names = Vec::new();
        for name in lists.flatten().filter_map(|name| Some(name.to_text()?.into_owned())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns whether members beside the declared may be given. Few schemas forbid others in so many words; one that
    /// declares some is taken to mean no others, for a misspelt name is far more likely than a hidden one.
    fn is_open(&self) -> bool {
        if self.0.iter().any(|object| object.contains("patternProperties")) {
            return true;
        }
        match self.keyword("additionalProperties") {
            Some(allowed) => allowed.bool() != Some(false),
            None => !self.0.iter().any(|object| object.contains("properties")),
        }
    }
}
