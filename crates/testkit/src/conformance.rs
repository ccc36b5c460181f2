//! A server with everything the official conformance suite calls by name, in both eras, on HTTP or stdio.
//!
//! It is built on rmcp, so that it shares no code with the gateway it stands behind. Each interactive tool is written
//! once as a list of questions; the era of the caller decides whether they are asked by request or by `input_required`.

mod catalog;
mod http;
mod questions;
mod runs;
mod server;
mod stdio;
mod tasks;
mod tools;

use std::io::{Write, stderr};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, ValueEnum};
use rmcp::model::ProtocolVersion;

use runs::Runs;
use server::Server;

/// Parses the command line and serves until the peer or the operator ends it.
pub fn main() -> ExitCode {
    let options = Options::parse();
    match serve(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to tell if stderr is gone too.
            let _ = writeln!(stderr(), "conformance-server: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves what the MCP conformance suite calls by name.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    transport: Transport,
    /// The revisions it speaks
    #[arg(long, value_enum, default_value_t = Era::Dual)]
    era: Era,
    /// Appends one line per tool run: `NAME run`, or `NAME retry` for a later round of the same call
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Transport {
    /// Serves Streamable HTTP at http://ADDRESS/mcp and says so on stderr; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Serves stdin and stdout
    #[arg(long)]
    stdio: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Era {
    /// 2024-11-05 to 2025-11-25, with `initialize` and sessions
    Legacy,
    /// 2026-07-28, stateless
    Modern,
    /// Both, as each request asks
    Dual,
}

impl Era {
    fn versions(self) -> &'static [ProtocolVersion] {
        let all = ProtocolVersion::KNOWN_VERSIONS;
        let legacy = ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25);
        match self {
            Self::Legacy => legacy,
            Self::Modern => &all[legacy.len()..],
            Self::Dual => all,
        }
    }
}

fn serve(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new(options.era, Runs::open(options.log.as_deref())?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match options.transport.http {
        Some(address) => runtime.block_on(http::serve(server, options.era, address)),
        None => {
            let served = runtime.block_on(stdio::serve(server, options.era));
            // A read of stdin cannot be called off; waiting for it would outlive the client.
            runtime.shutdown_background();
            served
        }
    }
}
