//! A tool in the forms that clients can read. Which client gets which form is the dialects' business.

use crate::dialect::{legacy, modern};
use crate::raw::{Raw, RawObject};

/// The forms of one tool that differ from what its server wrote; `None` where one does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variants {
    /// With all that the newest revision has, and nothing it took away.
    pub full: Option<Raw>,
    /// For clients that refuse the whole list for one entry they cannot read.
    pub strict: Option<Raw>,
}

/// Returns the forms of a tool.
pub fn variants(tool: &Raw) -> Variants {
    Variants { full: modern::tool(tool), strict: legacy::tool(tool) }
}

/// Returns whether a tool's structured content may be something else than an object.
pub fn is_loose(tool: &RawObject) -> bool {
    legacy::is_loose_tool(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_tools_have_one_form() {
        let plain = Raw::from_static(r#"{"name":"a","outputSchema":{"type":"object"}}"#);
        assert_eq!(variants(&plain), Variants { full: None, strict: None });
        let old = Raw::from_static(r#"{"name":"a","execution":{}}"#);
        assert_eq!(variants(&old).full.unwrap().as_str(), r#"{"name":"a"}"#);
        let odd = Raw::from_static(r#"{"name":"a","outputSchema":{"type":"array"}}"#);
        let Variants { full: None, strict: Some(strict) } = variants(&odd) else { panic!("one form") };
        assert!(!is_loose(&strict.object().unwrap()) && is_loose(&odd.object().unwrap()));
    }
}
