//! JSON with comments and trailing commas.

use indexmap::IndexMap;
use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Lines, Syntax, Unread, unclosed, unread};
use crate::expand::Text;
use crate::file::{Node, Object, Value, join};
use crate::problem::Problems;

pub(super) fn read(text: &str, problems: &mut Problems) -> Result<Option<Node>, Unread> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options()).map_err(|error| {
        let unclosed = matches!(
            error.kind(),
            ParseErrorKind::UnterminatedObject
                | ParseErrorKind::UnterminatedArray
                | ParseErrorKind::UnexpectedCloseBrace
                | ParseErrorKind::UnexpectedCloseBracket
        );
        if let Some(line) = unclosed::string(text, error.line_display()) {
            let hint = "add the `\"` at its end".to_owned();
            return Unread {
                line: Some(line),
                what: "the string that begins here is never closed".to_owned(),
                hint,
            };
        }
        match unclosed.then(|| unclosed::find(text)).flatten() {
            Some(open) => Unread {
                line: Some(open.line),
                what: format!("the `{}` that opens here is never closed", open.bracket),
                hint: format!("add the `{}` that belongs to it", open.closing()),
            },
            None => unread(Syntax::Json, Some(error.line_display()), &error.kind().to_string()),
        }
    })?;
    let mut reader = Reader { lines: Lines::of(text), problems };
    Ok(parsed.value.map(|value| reader.node(&value, reader.lines.at(value.start()), "")))
}

/// Comments and trailing commas, and nothing else that is not JSON.
pub(crate) fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

struct Reader<'a> {
    lines: Lines,
    problems: &'a mut Problems,
}

impl Reader<'_> {
    // The parser has bounded the depth, so this may recurse.
    fn node(&mut self, value: &ast::Value<'_>, line: usize, place: &str) -> Node {
        let value = match value {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(flag) => Value::Flag(flag.value),
            ast::Value::NumberLit(number) => Value::Number(number.value.to_owned()),
            ast::Value::StringLit(text) => Value::Text(Text::written(&text.value)),
            ast::Value::Array(list) => Value::List(
                list.elements
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        self.node(item, self.lines.at(item.start()), &format!("{place}[{index}]"))
                    })
                    .collect(),
            ),
            ast::Value::Object(object) => Value::Object(self.object(object, line, place)),
        };
        Node { line, value }
    }

    fn object(&mut self, object: &ast::Object<'_>, line: usize, place: &str) -> Object {
        let mut members = IndexMap::new();
        for property in &object.properties {
            let key = property.name.as_str();
            let line = self.lines.at(property.range.start);
            let node = self.node(&property.value, line, &join(place, key));
            if let Some(earlier) = members.insert(key.to_owned(), node) {
                let what = format!("has `{key}` twice, first in line {}", earlier.line);
                self.problems.warn(line, place, what, Some("the last one counts".to_owned()));
            }
        }
        Object { line, members }
    }
}
