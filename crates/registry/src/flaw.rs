//! What can be wrong with foreign data. Each flaw is a reason to take nothing of it.

use std::fmt;

/// A place in foreign data, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {flaw}")]
pub struct Refused {
    /// Where, in the words of the format: `packages[0].identifier`.
    pub place: String,
    pub flaw: Flaw,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("is missing")]
    Missing,
    #[error("is longer than {0} bytes")]
    TooLong(usize),
    #[error("has more than {0} members")]
    TooMany(usize),
    #[error("has control characters")]
    ControlCharacters,
    #[error("has `${{…}}` in it, which would read your variables and secrets")]
    OwnVariables,
    #[error("{0} is no name of a package of this kind")]
    Identifier(Shown),
    #[error("{0} is no name of a server: those are like `io.github.someone/weather`")]
    ServerName(Shown),
    #[error("{0} is no single version")]
    Version(Shown),
    #[error("{0} is no name of a variable")]
    VariableName(Shown),
    #[error("the variable {0} changes how programs are found or started, which is not a server's to say")]
    ReservedVariable(Shown),
    #[error("{0} is no name of a header")]
    HeaderName(Shown),
    #[error("{0} is no address that begins with https:// (or http:// on this machine)")]
    Address(Shown),
    #[error("names `{{{0}}}` and does not say what that is")]
    UnknownVariable(String),
    #[error("packages from {0} are not installed by the program that would run this one")]
    OtherRegistry(Shown),
    #[error("packages of the kind {0} cannot be run by Manifold")]
    PackageKind(Shown),
    #[error("{0} is no transport of MCP")]
    Transport(Shown),
    #[error("it is a server that has to run by itself; start it, then `manifold add NAME URL`")]
    RunsByItself,
    #[error(
        "the option {option} for `{runtime}` is not one a server may ask for; add it by hand if you trust it"
    )]
    RuntimeOption { runtime: String, option: Shown },
    #[error("it would open the folder {0} of this machine to the container, which is yours to say")]
    Mount(Shown),
    #[error("{0} leads out of the bundle's folder")]
    LeadsOut(Shown),
    #[error(
        "{0} is neither in the bundle nor a program that runs servers, such as node, python or uv; add it by hand if you \
         trust it: `manifold add NAME -- …`"
    )]
    Program(Shown),
    #[error("a bundle must come with its SHA-256")]
    HashMissing,
    #[error("is no SHA-256")]
    Hash,
    #[error("is made for {0}, not for this system")]
    Platform(Shown),
    #[error("has the format {0}, which is newer than this program")]
    Format(Shown),
    #[error("{0} is not one of the choices")]
    Choice(Shown),
}

/// A foreign text as it may be shown: no controls, and not much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown(String);

const SHOWN_CHARS: usize = 80;

impl Shown {
    pub(crate) fn new(text: &str) -> Self {
        let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Self(shown)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.escape_debug())
    }
}

impl Flaw {
    pub(crate) fn at(self, place: impl Into<String>) -> Refused {
        Refused { place: place.into(), flaw: self }
    }
}
