//! How this crate gets at the network: somebody else does it.

use std::io::{self, Write};

/// Whoever can fetch what an address has.
pub trait Fetch {
    /// Writes what the address has into `into`, at the most `get.max_bytes` of it. Only a plain success counts.
    fn get(&self, get: Get<'_>, into: &mut dyn Write) -> Result<(), FetchError>;
}

/// What is fetched.
#[derive(Debug, Clone, Copy)]
pub struct Get<'a> {
    pub url: &'a str,
    pub max_bytes: u64,
    pub redirects: Redirects,
}

/// Which redirects may be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// Those that stay with the same scheme, host and port.
    SameOrigin,
    /// Also those to other hosts, if they are asked by https: for files whose hash is known.
    Https,
}

/// Why there is nothing.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("it answered HTTP {0}")]
    Status(u16),
    #[error("its answer is larger than {0} bytes")]
    TooLarge(u64),
    #[error("it redirects to another host, or away from https")]
    Redirected,
    #[error("{0}")]
    Unreached(String),
    #[error("what came could not be written: {0}")]
    Write(#[source] io::Error),
}

/// Fetches into memory. The bound is kept here too, whoever fetches.
pub(crate) fn fetch_bytes(fetch: &dyn Fetch, get: Get<'_>) -> Result<Vec<u8>, FetchError> {
    let mut bytes = Vec::new();
    fetch_into(fetch, get, &mut bytes)?;
    Ok(bytes)
}

/// Fetches into a writer, within the bound.
pub(crate) fn fetch_into(fetch: &dyn Fetch, get: Get<'_>, into: &mut dyn Write) -> Result<(), FetchError> {
    let mut bounded = Bounded { into, left: get.max_bytes, is_over: false };
    let fetched = fetch.get(get, &mut bounded);
    match bounded.is_over {
        true => Err(FetchError::TooLarge(get.max_bytes)),
        false => fetched,
    }
}

/// Takes so much and no more.
struct Bounded<'w> {
    into: &'w mut dyn Write,
    left: u64,
    is_over: bool,
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = match self.left.checked_sub(bytes.len() as u64) {
            Some(left) => left,
            None => {
                self.is_over = true;
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        };
        self.into.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}
