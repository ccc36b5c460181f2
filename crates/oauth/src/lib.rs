//! The OAuth client: signs in to remote servers once and stays signed in.
//!
//! It knows HTTP by a trait ([`Http`]), storage by a trait ([`CredentialStore`]), tasks by a trait ([`Spawn`]), and
//! nobody else in the house. The README beside this crate tells the flow, the states and the rules of refreshing.

mod address;
mod challenge;
mod clock;
mod discovery;
pub mod door;
#[cfg(test)]
mod fakes;
mod http;
pub mod login;
mod logout;
mod metadata;
mod random;
mod record;
mod registration;
pub mod scope;
mod secret;
mod session;
mod settings;
mod spawn;
mod store;
mod text;
mod token;
mod url;

pub use address::{Reach, Refused, is_forbidden};
pub use challenge::Challenge;
pub use clock::{Clock, SystemClock};
pub use http::{
    Body, BoxFuture, Http, HttpError, MAX_ANSWER_BYTES, MAX_METADATA_BYTES, METADATA_TIMEOUT, Method,
    Redirects, Request, Response, TOKEN_TIMEOUT,
};
pub use login::{CallbackError, Context, DeviceLogin, LoginError, Pending, Refusal, Start};
pub use logout::{LoggedOut, Revoked, logout};
pub use metadata::{ResourceMetadata, ServerMetadata};
pub use record::{ClientSource, Credential, CredentialKey, Ended, Marker, Registration, TokenKind, Tokens};
pub use secret::Secret;
pub use session::{Bearer, Parts, Sent, Shown, SignIn, State, Verdict};
pub use settings::{DEFAULT_ACCOUNT, Grant, Pkce, ResourceChoice, Server, Settings};
pub use spawn::Spawn;
pub use store::{CredentialStore, StoreError, StoreLock};
pub use url::{BadUrl, Scheme, Url};
