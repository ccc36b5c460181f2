//! Roots: directories, or addresses, that servers may be told of.

use std::fmt::Write as _;

use crate::environment::Environment;
use crate::expand::Text;
use crate::fields::Fields;
use crate::file::{Node, Value};
use crate::keys::table::ROOT;
use crate::model::Root;

/// Reads the key `roots`: texts, or objects with `uri` and `name`.
pub(super) fn resolve(fields: Fields<'_>, environment: &Environment) -> Vec<Root> {
    fields.items("roots").unwrap_or_default().iter().filter_map(|item| root(item, environment)).collect()
}

fn root(item: &Node, environment: &Environment) -> Option<Root> {
    match &item.value {
        Value::Text(text) => Some(Root { uri: uri(text, environment), name: None }),
        Value::Object(object) => {
            let fields = Fields::new(object, &ROOT);
            Some(Root { uri: uri(fields.text("uri")?, environment), name: fields.string("name") })
        }
        _ => None,
    }
}

/// Returns an address as it is, and a path as a `file:` address.
fn uri(text: &Text, environment: &Environment) -> String {
    if text.value.contains("://") {
        return text.value.clone();
    }
    let path = text.with_home(environment);
    let path = environment.cwd.join(path).display().to_string().replace('\\', "/");
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "file:///" });
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~:@!$&'()*+,;=".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
