//! Opening a connection to a server: the system's proxy and certificates.

use manifold_engine::Lock as _;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::proxy::matcher::Matcher;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::h1::Stream;
use super::quickack::QuickAck;

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// The certificates we trust, read once and only if a server needs them.
#[derive(Clone, Default)]
pub(crate) struct Trust(Arc<Mutex<Option<Arc<rustls::ClientConfig>>>>);

/// The way to one server.
pub(super) struct Dialer {
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
    proxy: Option<Proxy>,
    /// The only addresses that are connected to; none: those of the host.
    addresses: Vec<SocketAddr>,
}

struct Proxy {
    host: String,
    port: u16,
    authorization: Option<HeaderValue>,
}

/// What stands between us and a server that the requests must know of.
pub(super) struct Relay<'d> {
    pub(super) authorization: Option<&'d HeaderValue>,
}

impl Dialer {
    pub(super) fn new(uri: &Uri, trust: &Trust) -> Result<Self, String> {
        let secure = match uri.scheme_str() {
            Some("https" | "wss") => true,
            Some("http" | "ws") => false,
            _ => return Err("the address must begin with http:// or https://".to_owned()),
        };
        let Some(host) = uri.host() else { return Err("the address has no host".to_owned()) };
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: uri.port_u16().unwrap_or(if secure { 443 } else { 80 }),
            tls: if secure { Some(TlsConnector::from(trust.config()?)) } else { None },
            proxy: Proxy::of(uri),
            addresses: Vec::new(),
        })
    }

    /// Connects to these addresses and no others, whatever the name leads to by then.
    pub(super) fn pinned(self, addresses: Vec<SocketAddr>) -> Self {
        Self { addresses, ..self }
    }

    /// Returns whether a proxy connects for us.
    pub(super) fn has_proxy(&self) -> bool {
        self.proxy.is_some()
    }

    /// Returns the proxy that reads our requests; through TLS none does.
    pub(super) fn relay(&self) -> Option<Relay<'_>> {
        let proxy = self.proxy.as_ref().filter(|_| self.tls.is_none())?;
        Some(Relay { authorization: proxy.authorization.as_ref() })
    }

    /// Opens a connection; fails with why it could not.
    pub(super) async fn connect(&self) -> Result<Box<dyn Stream>, String> {
        match timeout(CONNECT_PATIENCE, self.open()).await {
            Ok(opened) => opened.map_err(|error| error.to_string()),
            Err(_) => Err("it took too long".to_owned()),
        }
    }

    async fn open(&self) -> Result<Box<dyn Stream>, Box<dyn Error + Send + Sync>> {
        let (host, port) = (self.host.as_str(), self.port);
        let mut stream = match &self.proxy {
            None if !self.addresses.is_empty() => TcpStream::connect(self.addresses.as_slice()).await?,
            None => TcpStream::connect((host, port)).await?,
            Some(proxy) => TcpStream::connect((proxy.host.as_str(), proxy.port)).await?,
        };
        stream.set_nodelay(true)?;
        notice_dead_peers(&stream);
        let Some(connector) = &self.tls else { return Ok(Box::new(QuickAck::new(stream))) };
        if let Some(proxy) = &self.proxy {
            proxy.tunnel(&mut stream, host, port).await?;
        }
        let name = ServerName::try_from(host.to_owned())?;
        Ok(Box::new(connector.connect(name, QuickAck::new(stream)).await?))
    }
}

impl Stream for TlsStream<QuickAck> {
    fn sent_bytes(&self) -> u64 {
        self.get_ref().0.sent_bytes()
    }
}

/// Lets the kernel find out about a peer that is gone without a word (F14).
fn notice_dead_peers(stream: &TcpStream) {
    use nix::sys::socket::{setsockopt, sockopt};
    // Best effort: a system that refuses one of these still serves.
    let _ = setsockopt(stream, sockopt::KeepAlive, &true);
    let _ = setsockopt(stream, sockopt::TcpKeepIdle, &15);
    let _ = setsockopt(stream, sockopt::TcpKeepInterval, &5);
    let _ = setsockopt(stream, sockopt::TcpKeepCount, &3);
    let _ = setsockopt(stream, sockopt::TcpUserTimeout, &30_000);
}

impl Proxy {
    /// Returns the proxy the environment names for this address.
    fn of(uri: &Uri) -> Option<Self> {
        let found = Matcher::from_env().intercept(uri)?;
        let host = found.uri().host()?.to_owned();
        let port = found.uri().port_u16().unwrap_or(80);
        Some(Self { host, port, authorization: found.basic_auth().cloned() })
    }

    /// Asks the proxy for a way through.
    async fn tunnel(&self, stream: &mut TcpStream, host: &str, port: u16) -> std::io::Result<()> {
        let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
        if let Some(authorization) = self.authorization.as_ref().and_then(|value| value.to_str().ok()) {
            request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = stream.read_u8().await?;
            head.push(byte);
            if head.len() > 8192 {
                return Err(std::io::Error::other("the proxy's answer does not end"));
            }
        }
        let line = String::from_utf8_lossy(&head);
        let line = line.lines().next().unwrap_or_default();
        match line.split(' ').nth(1) {
            Some("200") => Ok(()),
            _ => Err(std::io::Error::other(format!("the proxy said: {line}"))),
        }
    }
}

impl Trust {
    fn config(&self) -> Result<Arc<rustls::ClientConfig>, String> {
        let mut config = self.0.locked();
        if let Some(config) = &*config {
            return Ok(Arc::clone(config));
        }
        let mut roots = rustls::RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(
                "the system has no certificates to trust; install ca-certificates or set SSL_CERT_FILE"
                    .to_owned(),
            );
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let built = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let built = Arc::new(built);
        *config = Some(Arc::clone(&built));
        Ok(built)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use manifold_engine::Tasks;
    use manifold_protocol::Outgoing;
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use tokio::net::TcpListener;
    use tokio::task::JoinSet;
    use tokio_rustls::TlsAcceptor;

    use super::*;
    use crate::remote::h1::{Asked, Pool, Wire, exchange};

    const LARGE: usize = 1 << 20;
    const START: &[u8] = b"POST / HTTP/1.1\r\n\r\n";

    /// Returns both sides of an encryption under a certificate of its own.
    fn encryption() -> (TlsAcceptor, TlsConnector) {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let client = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        (TlsAcceptor::from(Arc::new(server)), TlsConnector::from(Arc::new(client)))
    }

    /// Sends back what it gets as it gets it, so that both ways are full at once.
    async fn echo(listener: TcpListener, acceptor: TlsAcceptor, times: usize) {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        for _ in 0..times {
            stream.read_exact(&mut [0; START.len()]).await.unwrap();
            let head = format!("HTTP/1.1 200 X\r\nContent-Length: {LARGE}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut piece = vec![0; LARGE / 16];
            for _ in 0..16 {
                stream.read_exact(&mut piece).await.unwrap();
                stream.write_all(&piece).await.unwrap();
                stream.flush().await.unwrap();
            }
        }
        stream.shutdown().await.unwrap();
    }

    #[tokio::test]
    async fn large_messages_pass_through_tls_both_ways_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (acceptor, connector) = encryption();
        let mut server = JoinSet::new();
        server.spawn(echo(listener, acceptor, 3));
        let dialer = Dialer {
            host: "127.0.0.1".to_owned(),
            port,
            tls: Some(connector),
            proxy: None,
            addresses: Vec::new(),
        };
        let pool = Pool::new(Tasks::new());
        let body = Bytes::from_iter((0..LARGE).map(|number| number as u8));
        let mut wire = Wire::new(dialer.connect().await.unwrap());
        for left in (0..3).rev() {
            wire.begin(&Outgoing::from(body.clone()), |out| out.extend_from_slice(START));
            let (head, answer) = exchange(wire, Asked::Body, &pool).await.unwrap();
            assert_eq!(head.status, 200);
            assert_eq!(answer.read(LARGE).await.unwrap(), body);
            if left == 0 {
                break;
            }
            wire = pool.take().expect("the same serves again");
        }
        server.join_next().await.unwrap().unwrap();
        // Once something later has been heard of, so has the hang-up.
        let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
        TcpStream::connect(other.local_addr().unwrap()).await.unwrap();
        assert!(pool.take().is_none(), "it was closed at rest");
    }
}
