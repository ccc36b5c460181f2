//! Just enough of URI templates (RFC 6570) to tell whether a URI could have come from one.

/// A parsed template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// `{x}`: anything but a slash, a question mark or a hash.
    Segment,
    /// `{+x}`, `{/x*}`, `{?x}` and the like: anything, nothing included.
    Anything,
}

impl Template {
    pub(crate) fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let Some(length) = rest[open..].find('}') else { break };
            if open > 0 {
                parts.push(Part::Literal(rest[..open].to_owned()));
            }
            let expression = &rest[open + 1..open + length];
            let simple = expression.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '%')
                && !expression.contains(['*', ',']);
            parts.push(if simple { Part::Segment } else { Part::Anything });
            rest = &rest[open + length + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Self { parts }
    }

    /// Returns whether `uri` has this shape. A template names itself, as completion refers to it.
    pub(crate) fn matches(&self, uri: &str) -> bool {
        // Most are told apart by how they begin.
        if let Some(Part::Literal(text)) = self.parts.first()
            && !uri.starts_with(text.as_str())
        {
            return false;
        }
        // Positions of `uri` that the parts so far can end at; each part maps the set to the next, so the work is
        // bounded by parts times length whatever the template.
        let mut ends = vec![false; uri.len() + 1];
        ends[0] = true;
        for part in &self.parts {
            ends = part.advance(uri.as_bytes(), &ends);
        }
        ends.last().copied().unwrap_or(false)
    }

    /// Returns how much of it is fixed text: of two templates that match, the more telling one owns the URI.
    pub(crate) fn weight(&self) -> usize {
        self.parts.iter().map(|part| if let Part::Literal(text) = part { text.len() } else { 0 }).sum()
    }
}

impl Part {
    fn advance(&self, uri: &[u8], starts: &[bool]) -> Vec<bool> {
        let mut ends = vec![false; starts.len()];
        match self {
            Self::Literal(text) => {
                for (at, _) in starts.iter().enumerate().filter(|(_, open)| **open) {
                    if uri[at..].starts_with(text.as_bytes()) {
                        ends[at + text.len()] = true;
                    }
                }
            }
            Self::Segment => {
                let mut open = false;
                for at in 0..uri.len() {
                    open = (open || starts[at]) && !matches!(uri[at], b'/' | b'?' | b'#');
                    ends[at + 1] = open;
                }
            }
            Self::Anything => {
                let mut open = false;
                for (end, start) in ends.iter_mut().zip(starts) {
                    open |= start;
                    *end = open;
                }
            }
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, uri: &str, expected: bool) {
        assert_eq!(Template::parse(template).matches(uri), expected, "{template} ~ {uri}");
    }

    #[test]
    fn shapes() {
        check("demo://resource/{id}", "demo://resource/7", true);
        check("demo://resource/{id}", "demo://resource/", false);
        check("demo://resource/{id}", "demo://resource/7/x", false);
        check("file:///{+path}", "file:///a/b/c.txt", true);
        check("file:///{path*}", "file:///a/b", true);
        check("db://{table}/rows{?limit,offset}", "db://users/rows?limit=3", true);
        check("db://{table}/rows{?limit,offset}", "db://users/rows", true);
        check("db://{table}/rows", "db://users/cols", false);
        check("plain://x", "plain://x", true);
        check("demo://resource/{id}", "demo://resource/{id}", true);
        check("broken://{x", "broken://{x", true);
    }
}
