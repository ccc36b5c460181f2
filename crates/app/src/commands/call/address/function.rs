//! The function form, `server.tool(a: 1, b: "x")`: values as JSON writes them, with the liberties that quoting for a
//! shell asks for: single quotes, names without quotes, a comma at the end.

use manifold_protocol::Raw;

use super::super::arguments::convert::is_number;

/// No argument is nested deeper.
const MAX_DEPTH: usize = 64;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at `{rest}`; the form is 'server.tool(name: 1, other: \"text\")'")]
pub(crate) struct FunctionError {
    what: &'static str,
    rest: String,
}

/// Reads what follows the opening bracket, up to the closing one.
pub(super) fn arguments(text: &str) -> Result<Vec<(String, String)>, FunctionError> {
    let mut reader = Reader { rest: text };
    let mut arguments = Vec::new();
    while !reader.takes(')') {
        let name = reader.name()?;
        if !(reader.takes(':') || reader.takes('=')) {
            return Err(reader.error("a colon is missing after the name"));
        }
        arguments.push((name, reader.value(MAX_DEPTH)?));
        if !reader.takes(',') && !reader.is_at(')') {
            return Err(reader.error("a comma or the closing bracket is missing"));
        }
    }
    if reader.rest.trim().is_empty() {
        Ok(arguments)
    } else {
        Err(reader.error("something follows the bracket"))
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn is_at(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.starts_with(c)
    }

    fn takes(&mut self, c: char) -> bool {
        let found = self.is_at(c);
        if found {
            self.rest = &self.rest[c.len_utf8()..];
        }
        found
    }

    /// Returns what comes next up to anything that ends a word.
    fn word(&mut self) -> &str {
        self.rest = self.rest.trim_start();
        let ends = |c: char| c.is_whitespace() || ",:=()[]{}\"'".contains(c);
        let (word, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn name(&mut self) -> Result<String, FunctionError> {
        if self.is_at('"') || self.is_at('\'') {
            return self.text();
        }
        let before = self.rest;
        let word = self.word();
        if word.is_empty() {
            return Err(FunctionError::at("a name is missing", before));
        }
        Ok(word.to_owned())
    }

    /// Returns a value as JSON.
    fn value(&mut self, depth: usize) -> Result<String, FunctionError> {
        if depth == 0 {
            return Err(self.error("this is nested too deeply"));
        }
        if self.is_at('"') || self.is_at('\'') {
            return Ok(Raw::string(&self.text()?).as_str().to_owned());
        }
        if self.takes('[') {
            return self.list(depth);
        }
        if self.takes('{') {
            return self.object(depth);
        }
        let before = self.rest;
        let word = self.word();
        if matches!(word, "true" | "false" | "null") || is_number(word) {
            return Ok(word.to_owned());
        }
        Err(FunctionError::at("a value is missing; a text stands in quotes", before))
    }

    fn list(&mut self, depth: usize) -> Result<String, FunctionError> {
        let mut items = Vec::new();
        while !self.takes(']') {
            items.push(self.value(depth - 1)?);
            if !self.takes(',') && !self.is_at(']') {
                return Err(self.error("a comma or `]` is missing"));
            }
        }
        Ok(format!("[{}]", items.join(",")))
    }

    fn object(&mut self, depth: usize) -> Result<String, FunctionError> {
        let mut members = Vec::new();
        while !self.takes('}') {
            let name = self.name()?;
            if !self.takes(':') {
                return Err(self.error("a colon is missing after the name"));
            }
            members.push(format!("{}:{}", Raw::string(&name).as_str(), self.value(depth - 1)?));
            if !self.takes(',') && !self.is_at('}') {
                return Err(self.error("a comma or `}` is missing"));
            }
        }
        Ok(format!("{{{}}}", members.join(",")))
    }

    /// Reads a text in quotes of either kind, with the escapes of JSON.
    fn text(&mut self) -> Result<String, FunctionError> {
        let mut chars = self.rest.char_indices();
        let Some((_, quote)) = chars.next() else { return Err(self.error("a text is missing")) };
        let mut inner = String::from("\"");
        let mut escaped = false;
        for (at, c) in chars {
            match c {
                '\'' if escaped => inner.push('\''),
                _ if escaped => inner.extend(['\\', c]),
                '\\' => {}
                _ if c == quote => {
                    inner.push('"');
                    // The escapes are JSON's to read.
                    let text: Option<String> = serde_json::from_str(&inner).ok();
                    let text = text.ok_or_else(|| self.error("this is no text of JSON"))?;
                    self.rest = &self.rest[at + c.len_utf8()..];
                    return Ok(text);
                }
                '"' => inner.push_str("\\\""),
                c if c.is_control() => inner.push_str(&format!("\\u{:04x}", u32::from(c))),
                _ => inner.push(c),
            }
            escaped = c == '\\' && !escaped;
        }
        Err(self.error("a text is not closed"))
    }

    fn error(&self, what: &'static str) -> FunctionError {
        FunctionError::at(what, self.rest)
    }
}

impl FunctionError {
    fn at(what: &'static str, rest: &str) -> Self {
        Self { what, rest: rest.trim().chars().take(40).collect() }
    }
}
