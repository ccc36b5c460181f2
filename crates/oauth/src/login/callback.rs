//! What the browser brings back, held against what was asked (RFC 6749, section 4.1.2; RFC 9207).

use super::CallbackError;
use crate::secret::Secret;
use crate::text;
use crate::url::Url;

/// No callback is longer.
const MAX_BYTES: usize = 16 << 10;

/// What a callback must say.
pub(super) struct Expected<'a> {
    pub(super) redirect_uri: &'a str,
    pub(super) state: &'a Secret,
    pub(super) issuer: &'a str,
    /// Whether the issuer promises to name itself in every callback.
    pub(super) always_says_issuer: bool,
}

/// What it says.
#[derive(Debug)]
pub(super) enum Outcome {
    Code(Secret),
    Error { code: Option<String>, description: Option<String> },
}

impl Expected<'_> {
    /// Reads a query, or a whole address. Nothing of what is refused is shown.
    pub(super) fn read(&self, callback: &str) -> Result<Outcome, CallbackError> {
        let callback = callback.trim();
        if callback.len() > MAX_BYTES {
            return Err(CallbackError::Malformed);
        }
        let query = self.query(callback)?;
        let fields = text::fields(query).ok_or(CallbackError::Malformed)?;
        let one = |name: &str| {
            let mut values = fields.iter().filter(|(at, _)| at == name).map(|(_, value)| value.as_str());
            // A parameter that is there twice is two people's.
            let first = values.next();
            if values.next().is_some() { Err(CallbackError::Malformed) } else { Ok(first) }
        };
        let state = one("state")?.ok_or(CallbackError::Malformed)?;
        if Secret::new(state) != *self.state {
            return Err(CallbackError::WrongState);
        }
        match one("iss")? {
            // Byte for byte: no folding of case, port or slash.
            Some(issuer) if issuer != self.issuer => return Err(CallbackError::WrongIssuer),
            None if self.always_says_issuer => return Err(CallbackError::MissingIssuer),
            _ => {}
        }
        if let Some(error) = one("error")? {
            let code = Some(error.to_owned()).filter(|code| text::is_error_code(code));
            return Ok(Outcome::Error { code, description: one("error_description")?.map(text::shown) });
        }
        match one("code")? {
            Some(code) if !code.is_empty() => Ok(Outcome::Code(Secret::new(code))),
            _ => Err(CallbackError::Malformed),
        }
    }

    /// A whole address must be the one we listen at. A bare code is not taken: nobody could say whose it is.
    fn query<'a>(&self, callback: &'a str) -> Result<&'a str, CallbackError> {
        // An issuer in a query may be written as it is, too.
        let is_scheme =
            |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        if !callback.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme)) {
            return Ok(callback.strip_prefix('?').unwrap_or(callback));
        }
        let (address, query) = callback.split_once('?').ok_or(CallbackError::Malformed)?;
        let is_ours = match (Url::parse(address), Url::parse(self.redirect_uri)) {
            (Ok(one), Ok(ours)) => one.is_same_origin(&ours) && one.path() == ours.path(),
            _ => false,
        };
        let query = query.split_once('#').map_or(query, |(query, _)| query);
        if is_ours { Ok(query) } else { Err(CallbackError::Malformed) }
    }
}
