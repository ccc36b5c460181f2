//! Whether the headers say what the body says: whoever stands in between may have gone by them.

use hyper::HeaderMap;
use manifold_engine::{Gateway, Principal};
use manifold_protocol::dialect::modern;
use manifold_protocol::dialect::modern::headers::{METHOD, Mirror, NAME, VERSION, decode, mirrors, name_of};
use manifold_protocol::{Fault, Method, Raw};
use tracing::warn;

/// Fails where a header is missing, doubled, unreadable or says something else than the request.
pub(super) fn check(
    headers: &HeaderMap,
    method: &Method,
    params: Option<&Raw>,
    gateway: &Gateway,
    who: &Principal,
) -> Result<(), Fault> {
    let version = modern::version_of(params);
    // A request that says no revision is refused for that.
    let Some(version) = version.as_ref().and_then(|version| version.to_text()) else { return Ok(()) };
    match expect(headers, VERSION, &version) {
        Err(fault) if headers.contains_key(VERSION) && gateway.config().settings.http.lenient_headers => {
            warn!("accepted (server.lenientHeaders): {}", fault.message());
        }
        checked => checked?,
    }
    expect(headers, METHOD, method.as_str())?;
    let Some(name) = name_of(method, params) else { return Ok(()) };
    expect(headers, NAME, &name)?;
    if *method != Method::ToolsCall {
        return Ok(());
    }
    // The schema of a tool that is not known yet cannot be held against anyone.
    let Some(schema) = gateway.input_schema(&name, who) else { return Ok(()) };
    let arguments = params.and_then(|params| params.get("arguments"));
    for mirror in mirrors(&schema).unwrap_or_default() {
        let header = mirror.header_name();
        match (mirror.argument(arguments.as_ref()), said(headers, &header)?) {
            (None, None) => {}
            (Some(argument), Some(said)) if Mirror::agrees(&said, &argument) => {}
            (Some(_), None) => return Err(mismatch(&header, "is missing")),
            (_, Some(_)) => return Err(mismatch(&header, "does not say what the argument says")),
        }
    }
    Ok(())
}

fn expect(headers: &HeaderMap, name: &str, expected: &str) -> Result<(), Fault> {
    match said(headers, name)? {
        Some(said) if said == expected => Ok(()),
        Some(said) => Err(mismatch(name, &format!("says '{said}', the request says '{expected}'"))),
        None => Err(mismatch(name, "is missing")),
    }
}

/// Returns what a header says, once decoded.
fn said(headers: &HeaderMap, name: &str) -> Result<Option<String>, Fault> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(mismatch(name, "occurs twice")),
        (Some(value), None) => match decode(value.as_bytes()) {
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(mismatch(name, "cannot be decoded")),
        },
    }
}

fn mismatch(name: &str, what: &str) -> Fault {
    Fault::HeaderMismatch(format!("`{name}` {what}"))
}
