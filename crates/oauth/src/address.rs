//! Which addresses an authorization server may have: a server must not make us ask our own network for it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::url::{Scheme, Url};

/// Names that lead to the keys of a cloud machine, whatever they resolve to.
const METADATA_HOSTS: [&str; 5] =
    ["metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"];

/// What may be reached beyond public addresses over https.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reach {
    /// The MCP server is on this machine, so its authorization server may be, and need not speak TLS.
    pub loopback: bool,
    /// `oauth.allowPrivate`: the authorization server may be in a private network.
    pub private: bool,
}

/// Why an address is not asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("{host} is not asked over plain http")]
    PlainHttp { host: String },
    #[error("{host} is a private address; set `oauth.allowPrivate` if the authorization server is there")]
    Private { host: String },
    #[error("{host} is never asked")]
    Forbidden { host: String },
}

impl Reach {
    /// Returns what may be reached for the sake of an MCP server.
    pub fn of_server(server: &Url, allow_private: bool) -> Self {
        Self { loopback: server.is_loopback(), private: allow_private }
    }

    /// Judges an address by what is written. What its name resolves to is judged by [`Reach::permits_address`].
    pub fn permits_url(self, url: &Url) -> Result<(), Refused> {
        let host = url.host().to_owned();
        if METADATA_HOSTS.contains(&url.host()) {
            return Err(Refused::Forbidden { host });
        }
        if url.scheme() == Scheme::Http && !(self.loopback && url.is_loopback()) {
            return Err(Refused::PlainHttp { host });
        }
        if url.is_loopback() && !self.loopback && !self.private {
            return Err(Refused::Private { host });
        }
        url.ip().map_or(Ok(()), |ip| self.permits_address(url, ip))
    }

    /// Judges one address that the host of `url` resolves to. Only one that passed is connected to.
    pub fn permits_address(self, url: &Url, ip: IpAddr) -> Result<(), Refused> {
        let host = url.host().to_owned();
        // Without TLS nobody proves who they are, so a name of this machine must stay on it.
        if url.scheme() == Scheme::Http && !ip.to_canonical().is_loopback() {
            return Err(Refused::PlainHttp { host });
        }
        match kind(ip) {
            Kind::Public => Ok(()),
            Kind::Loopback if self.loopback || self.private => Ok(()),
            Kind::Private if self.private => Ok(()),
            Kind::Loopback | Kind::Private => Err(Refused::Private { host }),
            Kind::Never => Err(Refused::Forbidden { host }),
        }
    }
}

/// Tells whether an address is none of the public network's.
pub fn is_forbidden(ip: IpAddr) -> bool {
    kind(ip) != Kind::Public
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Public,
    Loopback,
    Private,
    /// Link-local (where clouds keep their keys), multicast, unspecified, reserved.
    Never,
}

fn kind(ip: IpAddr) -> Kind {
    match ip {
        IpAddr::V4(ip) => kind_v4(ip),
        IpAddr::V6(ip) => kind_v6(ip),
    }
}

fn kind_v4(ip: Ipv4Addr) -> Kind {
    let [a, b, c, _] = ip.octets();
    if ip.is_loopback() {
        return Kind::Loopback;
    }
    let is_shared = a == 100 && (64..128).contains(&b);
    if ip.is_private() || is_shared {
        // Some clouds answer for their keys inside the shared range.
        return if ip == Ipv4Addr::new(100, 100, 100, 200) { Kind::Never } else { Kind::Private };
    }
    let is_benchmark = a == 198 && (b == 18 || b == 19);
    let is_protocol = (a, b, c) == (192, 0, 0) || (a, b, c) == (192, 88, 99);
    let is_odd = a == 0 || a >= 240 || ip.is_link_local() || ip.is_multicast() || ip.is_documentation();
    if is_odd || is_benchmark || is_protocol { Kind::Never } else { Kind::Public }
}

fn kind_v6(ip: Ipv6Addr) -> Kind {
    if ip.is_loopback() {
        return Kind::Loopback;
    }
    let parts = ip.segments();
    if let Some(inner) = wrapped(parts) {
        // Whoever wraps an address means the one inside; one that we would not ask is not asked so either.
        return match kind_v4(inner) {
            Kind::Public => Kind::Public,
            Kind::Loopback if ip.to_ipv4_mapped().is_some() => Kind::Loopback,
            Kind::Private if ip.to_ipv4_mapped().is_some() => Kind::Private,
            _ => Kind::Never,
        };
    }
    let [first, second, ..] = parts;
    match first {
        0xfd00 if parts == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] => Kind::Never,
        _ if first & 0xfe00 == 0xfc00 => Kind::Private,
        // Everything that is given out today begins with 001; documentation and tunnels are within.
        0x2001 if second == 0xdb8 || second < 0x200 => Kind::Never,
        0x3fff => Kind::Never,
        _ if first & 0xe000 == 0x2000 => Kind::Public,
        _ => Kind::Never,
    }
}

/// Returns the IPv4 address inside a mapped, NAT64 or 6to4 one.
fn wrapped(parts: [u16; 8]) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = parts;
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match (a, b) {
        (0, 0) if c == 0 && d == 0 && e == 0 && (f == 0xffff || f == 0) => Some(v4(g, h)),
        (0, 0) if c == 0 && d == 0 && e == 0xffff && f == 0 => Some(v4(g, h)),
        (0x64, 0xff9b) => Some(v4(g, h)),
        (0x2002, _) => Some(v4(b, c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
