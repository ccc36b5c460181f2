//! Our scanner and serde_json agree on what is JSON, but for depth, where ours is stricter.

use manifold_protocol::Raw;
use manifold_protocol::scan;

pub(crate) fn check(data: &[u8]) {
    if scan::validate(data).is_err() {
        return;
    }
    let theirs: Result<&serde_json::value::RawValue, _> = serde_json::from_slice(data);
    assert!(theirs.is_ok(), "we accept what is no JSON");
    let raw = Raw::parse(bytes::Bytes::copy_from_slice(data)).expect("validated");
    if let Some(mut object) = raw.object() {
        object.set("name", Raw::string("x"));
        assert!(scan::validate(object.into_raw().as_bytes()).is_ok(), "an edit broke the text");
    }
}
