//! The flags that may stand with every command; which of them act where is said by its help.

use std::path::PathBuf;

use clap::Args;
use manifold_config::Profile;

use super::values::{FormatArg, FramingArg, LevelArg, profile};
use crate::output::ColorArg;

#[derive(Debug, Args)]
pub(super) struct ModeFlags {
    /// Serve one client on standard input and output
    #[arg(long, global = true)]
    pub(super) stdio: bool,
    /// Serve over HTTP
    #[arg(long, global = true)]
    pub(super) http: bool,
}

/// What applies to every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Flags {
    /// The config [default: ~/.config/manifold/config.json, or the profile's]
    #[arg(short, long, alias = "mcp-config", global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The namespace, by id or unique name
    #[arg(long, alias = "schema", global = true, value_name = "ID")]
    pub(crate) namespace: Option<String>,
    /// Whose defaults apply: manifold, mcps-proxy, mcp-studio or mcp-all-in-one [env: MANIFOLD_PROFILE]
    #[arg(long, global = true, value_name = "NAME", value_parser = profile)]
    pub(crate) profile: Option<Profile>,
    /// A file with the key of stored secrets [env: MANIFOLD_KEY_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Serve by ourselves, without the user's daemon [env: MANIFOLD_DAEMON=off]
    #[arg(long, global = true)]
    pub(crate) alone: bool,
    /// Start all servers with the first request
    #[arg(long, global = true)]
    pub(crate) eager: bool,
    /// How much is logged on standard error
    #[arg(short, long, global = true, value_name = "LEVEL")]
    pub(crate) log_level: Option<LevelArg>,
    /// How log lines look
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) log_format: Option<FormatArg>,
    /// When output is coloured
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: ColorArg,
    /// Say which gateway was asked
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Log nothing
    #[arg(short, long, global = true)]
    pub(crate) silent: bool,
    /// Force the framing of standard input and output [default: as the client's first bytes say]
    #[arg(long, global = true, value_name = "FRAMING")]
    pub(crate) framing: Option<FramingArg>,
    /// The port for HTTP [default: 3095]
    #[arg(short, long, global = true)]
    pub(crate) port: Option<u16>,
    /// The address for HTTP [default: 127.0.0.1]
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// A name beside localhost under which HTTP clients may address us; may be repeated
    #[arg(long = "allowed-host", global = true, value_name = "NAME")]
    pub(crate) allowed_hosts: Vec<String>,
    /// A file with the token HTTP clients must send (also MANIFOLD_TOKEN, server.token)
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The token itself; others can see it in the list of processes
    #[arg(long, global = true, value_name = "TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Let web pages of these origins read our answers (see --cors-origin)
    #[arg(long, global = true)]
    pub(crate) cors: bool,
    /// An origin whose pages may read our answers; may be repeated
    #[arg(long = "cors-origin", global = true, value_name = "ORIGIN")]
    pub(crate) cors_origins: Vec<String>,
    /// The certificate chain for TLS, a PEM file
    #[arg(long, global = true, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key for TLS, a PEM file
    #[arg(long, global = true, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Where Prometheus finds metrics, beside the port for HTTP (also telemetry.metrics)
    #[arg(long, global = true, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<String>,
    /// A file with the keys that all replicas have, 32 bytes in base64 on each line (also scale.stateKeyFile)
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) state_key_file: Option<PathBuf>,
    /// The Redis that all replicas share, as redis://HOST:PORT/0 (also scale.state)
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) state: Option<String>,
    /// The name of this replica in logs (also scale.replica)
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) replica: Option<String>,
}

impl Flags {
    /// Returns the first flag given that only HTTP can use.
    pub(super) fn http_only(&self) -> Option<&'static str> {
        let given = [
            ("--port", self.port.is_some()),
            ("--host", self.host.is_some()),
            ("--allowed-host", !self.allowed_hosts.is_empty()),
            ("--token-file", self.token_file.is_some()),
            ("--token", self.token.is_some()),
            ("--cors", self.cors),
            ("--cors-origin", !self.cors_origins.is_empty()),
            ("--tls-cert", self.tls_cert.is_some()),
            ("--metrics", self.metrics.is_some()),
            ("--state-key-file", self.state_key_file.is_some()),
            ("--state", self.state.is_some()),
            ("--replica", self.replica.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// Returns the profile as far as it is known before the config is read.
    pub(crate) fn known_profile(&self, program: Option<Profile>) -> Profile {
        self.profile.or(program).unwrap_or(Profile::Manifold)
    }
}
