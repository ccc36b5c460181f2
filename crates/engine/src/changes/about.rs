//! What a client has said of itself, for operators.

use manifold_admin::{ClientTransport, Principal};

/// What is known of a client; `None` where it is not.
#[derive(Debug, Clone, Default)]
pub struct ClientAbout {
    pub principal: Option<Principal>,
    pub name: Option<String>,
    pub version: Option<String>,
    /// The revision agreed on with it.
    pub revision: Option<String>,
    pub transport: Option<ClientTransport>,
    pub calls_in_flight: Option<usize>,
}
