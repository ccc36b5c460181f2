//! TLS for those who serve other machines without a reverse proxy.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{}: no certificate could be read; it must be a PEM file", .0.display())]
    Certificate(PathBuf, #[source] rustls::pki_types::pem::Error),
    #[error("{}: no private key could be read; it must be a PEM file", .0.display())]
    Key(PathBuf, #[source] rustls::pki_types::pem::Error),
    #[error("certificate and key cannot be used together")]
    Mismatch(#[source] rustls::Error),
    #[error("TLS could not be set up")]
    Setup(#[source] io::Error),
}

/// Reads a certificate chain and its key.
pub fn tls_acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| TlsError::Certificate(certificate.to_owned(), error))?;
    if chain.is_empty() {
        let error = rustls::pki_types::pem::Error::NoItemsFound;
        return Err(TlsError::Certificate(certificate.to_owned(), error));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| TlsError::Key(key.to_owned(), error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Mismatch)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(TlsError::Mismatch)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
