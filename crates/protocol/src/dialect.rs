//! What is said differently in each era.

pub mod legacy;
pub mod modern;

use crate::raw::Raw;

/// What a server said of itself, in either era.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    pub revision: String,
    pub capabilities: Raw,
    pub instructions: Option<String>,
}
