//! TLS for those who serve other machines without a reverse proxy.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use manifold_config::{ClientCerts, Tls};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{}: no certificate could be read; it must be a PEM file", .0.display())]
    Certificate(PathBuf, #[source] rustls::pki_types::pem::Error),
    #[error("{}: no private key could be read; it must be a PEM file", .0.display())]
    Key(PathBuf, #[source] rustls::pki_types::pem::Error),
    #[error("{}: no certificates could be read for those of clients; it must be a PEM file", .0.display())]
    ClientCa(PathBuf, #[source] rustls::pki_types::pem::Error),
    #[error("{}: certificates of clients cannot be checked with it", .0.display())]
    ClientCerts(PathBuf, #[source] rustls::server::VerifierBuilderError),
    #[error("certificate and key cannot be used together")]
    Mismatch(#[source] rustls::Error),
    #[error("TLS could not be set up")]
    Setup(#[source] io::Error),
}

/// Agrees on TLS with whoever comes. What its files hold may be replaced under way.
#[derive(Clone)]
pub struct TlsAcceptor {
    files: Arc<Tls>,
    config: Arc<ArcSwap<ServerConfig>>,
}

impl TlsAcceptor {
    /// Returns the files that it was made of.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let clients = self.files.clients.as_ref().map(|clients| clients.ca.as_path());
        [self.files.cert.as_path(), self.files.key.as_path()].into_iter().chain(clients)
    }

    /// Reads its files again. Those who come from now on see what is in them; where they cannot be used, nothing changes.
    pub fn reload(&self) -> Result<(), TlsError> {
        self.config.store(Arc::new(server_config(&self.files)?));
        Ok(())
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        tokio_rustls::TlsAcceptor::from(self.config.load_full()).accept(stream).await
    }
}

/// Reads a certificate chain, its key, and the certificates of those who sign for clients.
pub fn tls_acceptor(tls: &Tls) -> Result<TlsAcceptor, TlsError> {
    let config = Arc::new(ArcSwap::from_pointee(server_config(tls)?));
    Ok(TlsAcceptor { files: Arc::new(tls.clone()), config })
}

fn server_config(tls: &Tls) -> Result<ServerConfig, TlsError> {
    let (certificate, key) = (tls.cert.as_path(), tls.key.as_path());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| TlsError::Certificate(certificate.to_owned(), error))?;
    if chain.is_empty() {
        let error = rustls::pki_types::pem::Error::NoItemsFound;
        return Err(TlsError::Certificate(certificate.to_owned(), error));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| TlsError::Key(key.to_owned(), error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Mismatch)?;
    let builder = match &tls.clients {
        None => builder.with_no_client_auth(),
        Some(clients) => builder.with_client_cert_verifier(client_verifier(clients, provider)?),
    };
    let mut config = builder.with_single_cert(chain, private).map_err(TlsError::Mismatch)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Returns what checks certificates of clients: they are signed by one of those that the config names.
fn client_verifier(
    clients: &ClientCerts,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let wrong = |error| TlsError::ClientCa(clients.ca.clone(), error);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&clients.ca).map_err(wrong)? {
        roots.add(certificate.map_err(wrong)?).map_err(TlsError::Mismatch)?;
    }
    if roots.is_empty() {
        return Err(wrong(rustls::pki_types::pem::Error::NoItemsFound));
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = if clients.required { verifier } else { verifier.allow_unauthenticated() };
    verifier.build().map_err(|error| TlsError::ClientCerts(clients.ca.clone(), error))
}
