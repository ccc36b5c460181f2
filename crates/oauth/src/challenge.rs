//! What a refused request is told: the challenges of `WWW-Authenticate` (RFC 9110, section 11.6.1).
//!
//! There may be several headers, several challenges in one, values quoted or bare, in any case; what is inside a quoted
//! value is never taken for a parameter.

use crate::text;

/// More than this of one header is not read.
const MAX_BYTES: usize = 16 << 10;

/// What the `Bearer` challenge of an answer says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    pub resource_metadata: Option<String>,
    pub scope: Option<String>,
    pub error: Option<String>,
    pub error_description: Option<String>,
}

impl Challenge {
    /// Finds the `Bearer` challenge in all `WWW-Authenticate` headers of an answer: the first that names its metadata,
    /// else the first.
    pub fn parse<'a>(headers: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut found: Option<Self> = None;
        for header in headers {
            let mut reader = Reader::new(header);
            while let Some((scheme, parameters)) = reader.challenge() {
                if !scheme.eq_ignore_ascii_case("bearer") {
                    continue;
                }
                let challenge = Self::of(parameters);
                let is_better =
                    |found: &Self| found.resource_metadata.is_none() && challenge.resource_metadata.is_some();
                if found.as_ref().is_none_or(is_better) {
                    found = Some(challenge);
                }
            }
        }
        found
    }

    /// Returns the scopes it names.
    pub fn scopes(&self) -> Vec<String> {
        self.scope.as_deref().map(crate::scope::split).unwrap_or_default()
    }

    /// Tells whether the token is good but allows too little.
    pub fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn of(parameters: Vec<(String, String)>) -> Self {
        let mut challenge = Self::default();
        for (name, value) in parameters {
            let slot = match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => &mut challenge.resource_metadata,
                "scope" => &mut challenge.scope,
                "error" => &mut challenge.error,
                "error_description" => &mut challenge.error_description,
                _ => continue,
            };
            // What is said twice is said by two: the first counts.
            if slot.is_none() {
                *slot = Some(value);
            }
        }
        challenge.scope = challenge.scope.filter(|scope| crate::scope::is_list(scope));
        challenge.error = challenge.error.filter(|error| text::is_error_code(error));
        challenge.error_description =
            challenge.error_description.map(|description| text::shown(&description));
        challenge
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn new(header: &'a str) -> Self {
        let mut end = header.len().min(MAX_BYTES);
        while !header.is_char_boundary(end) {
            end -= 1;
        }
        Self { rest: header.get(..end).unwrap_or_default() }
    }

    /// Returns the next scheme and its parameters.
    fn challenge(&mut self) -> Option<(&'a str, Vec<(String, String)>)> {
        let scheme = loop {
            self.skip(|c| c == ',' || is_blank(c));
            if self.rest.is_empty() {
                return None;
            }
            let word = self.token();
            self.skip(is_blank);
            if word.is_empty() || self.rest.starts_with('=') {
                // A parameter that belongs to no challenge, or what no grammar knows.
                self.skip_element();
            } else {
                break word;
            }
        };
        if self.skip_token68() {
            return Some((scheme, Vec::new()));
        }
        let mut parameters = Vec::new();
        while let Some(parameter) = self.parameter() {
            parameters.push(parameter);
        }
        Some((scheme, parameters))
    }

    /// Reads one parameter; leaves the next challenge where it is.
    fn parameter(&mut self) -> Option<(String, String)> {
        let start = self.rest;
        self.skip(|c| c == ',' || is_blank(c));
        let name = self.token();
        self.skip(is_blank);
        let Some(after) = self.rest.strip_prefix('=').filter(|_| !name.is_empty()) else {
            self.rest = start;
            return None;
        };
        self.rest = after;
        self.skip(is_blank);
        let value = if self.rest.starts_with('"') { self.quoted() } else { self.bare() };
        Some((name.to_owned(), value))
    }

    fn quoted(&mut self) -> String {
        let mut value = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        let mut end = self.rest.len();
        while let Some((at, c)) = characters.next() {
            match c {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => value.extend(characters.next().map(|(_, c)| c)),
                c => value.push(c),
            }
        }
        self.rest = self.rest.get(end..).unwrap_or_default();
        // Whatever stands between the closing quote and the comma belongs to nothing.
        self.skip(|c| c != ',' && !is_blank(c));
        value
    }

    /// Bare values are tokens by the book; servers put addresses there too.
    fn bare(&mut self) -> String {
        let end = self.rest.find(|c| c == ',' || is_blank(c)).unwrap_or(self.rest.len());
        let (value, rest) = self.rest.split_at(end);
        self.rest = rest;
        value.to_owned()
    }

    fn token(&mut self) -> &'a str {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let end = self.rest.find(|c| !is_token(c)).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        token
    }

    /// Skips the one blob that some schemes have in place of parameters.
    fn skip_token68(&mut self) -> bool {
        let is_blob = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c);
        let after = self.rest.trim_start_matches(is_blob);
        if after.len() == self.rest.len() {
            return false;
        }
        let after = after.trim_start_matches('=').trim_start_matches(is_blank);
        let is_whole = after.is_empty() || after.starts_with(',');
        if is_whole {
            self.rest = after;
        }
        is_whole
    }

    /// Skips to the next comma that is not inside quotes.
    fn skip_element(&mut self) {
        let mut is_quoted = false;
        let mut is_escaped = false;
        let end = self.rest.char_indices().find(|(_, c)| {
            let was_escaped = std::mem::take(&mut is_escaped);
            match c {
                '"' if !was_escaped => is_quoted = !is_quoted,
                '\\' if is_quoted && !was_escaped => is_escaped = true,
                _ => {}
            }
            *c == ',' && !is_quoted
        });
        self.rest = end.and_then(|(at, _)| self.rest.get(at..)).unwrap_or_default();
    }

    fn skip(&mut self, matches: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(matches);
    }
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

#[cfg(test)]
mod tests;
