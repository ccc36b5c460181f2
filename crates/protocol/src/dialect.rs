//! What is said differently in each era, and by LiteMCP.

pub mod legacy;
pub mod litemcp;
pub mod modern;

use crate::raw::{Raw, RawObject};

/// Edits the `_meta` of parameters or a result; one with nothing in it is left out.
fn edit_meta(object: &mut RawObject, edit: impl FnOnce(&mut RawObject)) {
    let mut meta = object.get("_meta").and_then(|meta| meta.object()).unwrap_or_default();
    edit(&mut meta);
    if meta.is_empty() {
        object.remove("_meta");
    } else {
        object.set("_meta", meta.into_raw());
    }
}

/// What a server said of itself, in either era.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    pub revision: String,
    pub capabilities: Raw,
    pub instructions: Option<String>,
}
