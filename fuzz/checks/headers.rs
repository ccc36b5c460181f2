//! Any text can be said in a header and is read back the same; no value and no schema makes the reader panic.

use bytes::Bytes;
use manifold_protocol::dialect::modern::headers;
use manifold_protocol::{Method, Raw};

pub(crate) fn check(data: &[u8]) {
    // What a stranger says.
    let said = headers::decode(data);
    if let Ok(text) = std::str::from_utf8(data) {
        check_text(text);
    }
    if let Some(said) = said {
        check_text(&said);
    }
    if let Ok(raw) = Raw::parse(Bytes::copy_from_slice(data)) {
        check_schema(&raw);
    }
}

fn check_text(text: &str) {
    let value = headers::encode(text);
    assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{value:?} is no header value");
    assert_eq!(value.trim(), value, "spaces at the ends are lost on the way");
    assert_eq!(headers::decode(value.as_bytes()).as_deref(), Some(text));
}

/// Reads one value both as a schema and as the arguments for it.
fn check_schema(raw: &Raw) {
    for mirror in headers::mirrors(raw).unwrap_or_default() {
        let name = mirror.header_name();
        assert!(name.starts_with(headers::PARAM_PREFIX) && !name.bytes().any(|b| b.is_ascii_uppercase()));
        assert!(
            name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':'),
            "{name:?} is no header name"
        );
        if let Some(value) = mirror.value(Some(raw)) {
            check_text(&value);
        }
    }
    for method in [Method::ToolsCall, Method::ResourcesRead, Method::TasksGet] {
        if let Some(name) = headers::name_of(&method, Some(raw)) {
            check_text(&name);
        }
    }
}
