//! Who asks.

mod grants;

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
pub use grants::{Access, Grants, Wish};

/// Who asks, as admission found out. What one has opened another does not find. It is not the `Caller`, which is what
/// servers are told.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Principal {
    /// The gateway itself, which reads lists.
    Gateway,
    /// Somebody on this machine, of whom nothing is asked.
    Local,
    /// Somebody with the token of this name.
    Token(Arc<str>),
    /// Somebody that an authorization server vouches for.
    User(Arc<User>),
    /// Whoever has the key of a certificate with this subject.
    Certificate(Arc<str>),
}

/// Who an authorization server says it is. Two of its clients are two, though one user sits before both.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct User {
    pub issuer: String,
    pub subject: String,
    pub client: Option<String>,
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway => f.write_str("gateway"),
            Self::Local => f.write_str("local"),
            Self::Token(name) => write!(f, "token:{name}"),
            Self::User(user) => write!(f, "user:{user}"),
            Self::Certificate(subject) => write!(f, "certificate:{}", one_word(subject)),
        }
    }
}

/// No two are shown alike.
impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", one_word(&self.subject), one_word(&self.issuer))?;
        match &self.client {
            Some(client) => write!(f, " with {}", one_word(client)),
            None => Ok(()),
        }
    }
}

/// Returns a text with nothing in it that could end it: what others chose is shown in logs.
fn one_word(text: &str) -> String {
    text.escape_debug().to_string().replace(' ', "\\u{20}")
}

/// What is kept of a client's own name for itself, in characters.
pub(crate) const MAX_NAME: usize = 200;

/// A principal and what is known of it beside: where it comes from and what its client calls itself.
#[derive(Debug)]
pub struct Requester {
    pub principal: Principal,
    /// `None`: on a pipe.
    pub address: Option<IpAddr>,
    name: OnceLock<Box<str>>,
    session: OnceLock<Arc<str>>,
    process: Option<ClientProcess>,
    /// `None`: it may use whatever the namespace permits.
    grants: Option<ArcSwap<Grants>>,
    /// Somebody stands between: where it comes from is where that one is.
    is_forwarded: bool,
}

/// The process that a client is, on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientProcess {
    pub pid: Option<u32>,
    /// The folder it was started in.
    pub cwd: Option<String>,
    /// The version of the shim that stands before it, where one does.
    pub shim: Option<String>,
}

impl Requester {
    pub fn new(principal: Principal, address: Option<IpAddr>) -> Self {
        let (name, session) = (OnceLock::new(), OnceLock::new());
        Self { principal, address, name, session, process: None, grants: None, is_forwarded: false }
    }

    /// Returns somebody who may use no more than was granted.
    pub fn granted(principal: Principal, address: Option<IpAddr>, grants: Option<Arc<Grants>>) -> Self {
        Self { grants: grants.map(ArcSwap::new), ..Self::new(principal, address) }
    }

    /// Says whether somebody has passed on what it asks.
    #[must_use]
    pub fn forwarded(self, is_forwarded: bool) -> Self {
        Self { is_forwarded, ..self }
    }

    pub fn is_forwarded(&self) -> bool {
        self.is_forwarded
    }

    /// Returns whether it sits at this machine, as far as can be told: it is on a pipe, or comes straight from here and is
    /// none of those to whom a gateway gives tokens because they are elsewhere.
    pub fn is_near(&self) -> bool {
        match (&self.address, &self.principal) {
            (None, _) => true,
            _ if self.is_forwarded => false,
            (_, Principal::Gateway | Principal::User(_)) => false,
            (_, Principal::Token(_)) if self.grants.is_some() => false,
            (Some(address), _) => address.to_canonical().is_loopback(),
        }
    }

    /// Returns what was granted, where that is not everything.
    pub fn grants(&self) -> Option<Arc<Grants>> {
        self.grants.as_ref().map(ArcSwap::load_full)
    }

    /// Takes over what a later credential of the same principal grants. Returns whether it could: who was not restricted
    /// stays so, and who was stays restricted.
    pub fn regrant(&self, grants: Option<Arc<Grants>>) -> bool {
        match (&self.grants, grants) {
            (None, None) => true,
            (Some(mine), Some(grants)) => {
                if !Arc::ptr_eq(&mine.load(), &grants) {
                    mine.store(grants);
                }
                true
            }
            _ => false,
        }
    }

    /// Returns whoever is at the other end of our own pipes.
    pub fn local() -> Arc<Self> {
        Arc::new(Self::new(Principal::Local, None))
    }

    /// Returns whoever is at the other end of our own pipes, or of a socket that only one user has, where it can be seen.
    pub fn of_process(process: ClientProcess) -> Arc<Self> {
        Arc::new(Self { process: Some(process), ..Self::new(Principal::Local, None) })
    }

    pub fn process(&self) -> Option<&ClientProcess> {
        self.process.as_ref()
    }

    /// Notes what the client calls itself, a bounded part of it; the first word counts.
    pub fn set_name(&self, name: &str) {
        let _ = self.name.set(name.chars().take(MAX_NAME).collect::<String>().into());
    }

    /// Notes what its session is called, where nobody else asks by the same requester.
    pub fn set_session(&self, id: &str) {
        let _ = self.session.set(id.into());
    }

    pub fn session(&self) -> Option<&Arc<str>> {
        self.session.get()
    }

    pub fn name(&self) -> Option<&str> {
        self.name.get().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_is_shown_as_the_manual_names_it() {
        let shown = |principal: Principal| principal.to_string();
        assert_eq!(shown(Principal::Gateway), "gateway");
        assert_eq!(shown(Principal::Local), "local");
        assert_eq!(shown(Principal::Token("ci".into())), "token:ci");
        assert_eq!(shown(Principal::Certificate("CN=Ann B".into())), "certificate:CN=Ann\\u{20}B");
        let user = |subject: &str, client: Option<&str>| {
            let (issuer, subject) = ("https://login.example".to_owned(), subject.to_owned());
            shown(Principal::User(Arc::new(User { issuer, subject, client: client.map(str::to_owned) })))
        };
        assert_eq!(user("ann", Some("editor")), "user:ann of https://login.example with editor");
        assert_eq!(user("ann\n", None), "user:ann\\n of https://login.example");
        assert_ne!(user("ann of x", None), user("ann", None));
    }

    #[test]
    fn who_may_be_elsewhere_is_not_near() {
        let here = || Some(IpAddr::from([127, 0, 0, 1]));
        let token = || Principal::Token("ci".into());
        let user = User { issuer: "i".to_owned(), subject: "ann".to_owned(), client: None };
        let some = || Some(Arc::new(Grants::default()));
        for near in [
            Requester::new(Principal::Local, None),
            Requester::new(Principal::Local, here()),
            Requester::new(token(), here()),
            Requester::new(token(), Some(IpAddr::from([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1]))),
        ] {
            assert!(near.is_near(), "{near:?}");
        }
        for far in [
            Requester::new(Principal::Local, Some([192, 0, 2, 1].into())),
            Requester::new(Principal::Local, here()).forwarded(true),
            Requester::new(Principal::User(Arc::new(user)), here()),
            Requester::new(Principal::Gateway, here()),
            Requester::granted(token(), here(), some()),
        ] {
            assert!(!far.is_near(), "{far:?}");
        }
    }

    #[test]
    fn a_client_has_one_name() {
        let requester = Requester::new(Principal::Local, None);
        assert_eq!(requester.name(), None);
        requester.set_name("editor");
        requester.set_name("another");
        assert_eq!(requester.name(), Some("editor"));
        let endless = Requester::new(Principal::Local, None);
        endless.set_name(&"ä".repeat(1000));
        assert_eq!(endless.name().map(|name| name.chars().count()), Some(MAX_NAME));
    }
}
