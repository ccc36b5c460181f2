//! Servers that outlive an `execve` of the gateway: what each is left with, and how it is taken up by the program that
//! takes our place. README.md beside these files tells the order of things.

mod answers;
mod convert;
mod encoding;
mod listing;
mod resume;
mod saved;
mod suspend;

use std::fmt;
use std::io;
use std::os::fd::RawFd;

use hmac::{Hmac, KeyInit};
use manifold_config::Server;
use manifold_engine::{Reopen, ReturnAddress};
use manifold_protocol::Fault;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::cache::fingerprint;
use crate::process::{Descriptor, SavedHost};
use answers::SavedAnswer;
use encoding::{hex, unhex};

pub(crate) use encoding::{Data, Json};
pub(crate) use listing::{read_listing, write_listing};
pub(crate) use resume::Unclaimed;
pub(crate) use saved::{
    SavedCall, SavedConnection, SavedContinuation, SavedDialect, SavedProcess, SavedQuestion, SavedServer,
    SavedStage, SavedTrouble,
};
pub(crate) use suspend::Live;

/// What a state that we write is known by, and the oldest program that can read it. Members may be added without a change
/// of either.
const VERSION: u32 = 1;
const READABLE_SINCE: u32 = 1;
/// The oldest state that we can read.
const OLDEST: u32 = 1;

/// All servers that run, with their guard, on their way from one program to the next. Dropping it ends them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    version: u32,
    #[serde(default)]
    readable_since: u32,
    /// By which the definitions of servers are told apart and not given away.
    key: String,
    host: SavedHost,
    #[serde(default)]
    servers: Vec<SavedServer>,
    /// What has been answered to askers who were not there.
    #[serde(default)]
    answers: Vec<SavedAnswer>,
}

/// Why a state cannot be taken up.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    #[error("the state is of version {version}, which this program cannot read")]
    Version { version: u32 },
    #[error("the state cannot be read or written")]
    Json(#[from] serde_json::Error),
}

impl fmt::Debug for Handover {
    /// Shows whose it is and nothing that was said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<&str> = self.servers.iter().map(|server| server.id.as_str()).collect();
        f.debug_struct("Handover").field("version", &self.version).field("servers", &servers).finish()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    version: u32,
    #[serde(default)]
    readable_since: u32,
}

impl Handover {
    fn new(key: &[u8], host: SavedHost) -> Self {
        Self {
            version: VERSION,
            readable_since: READABLE_SINCE,
            key: hex(key),
            host,
            servers: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Reads a state and takes over the descriptors it names, which from now on close when another program is run.
    pub fn from_json(text: &str) -> Result<Self, HandoverError> {
        let Head { version, readable_since } = serde_json::from_str(text)?;
        if version < OLDEST || readable_since > VERSION {
            return Err(HandoverError::Version { version });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Writes the state down. The descriptors stay this one's for as long as it lives.
    pub fn to_json(&self) -> Result<String, HandoverError> {
        Ok(serde_json::to_string(self)?)
    }

    /// Writes the state down and lets go of the descriptors, which whoever reads it owns.
    pub fn into_json(self) -> Result<String, HandoverError> {
        let text = self.to_json()?;
        std::mem::forget(self);
        Ok(text)
    }

    /// Returns the numbers of all that must stay open.
    pub fn descriptors(&self) -> Vec<RawFd> {
        self.all_descriptors().map(Descriptor::number).collect()
    }

    /// Lets all of it stay open for the program that takes our place. To be called just before that is run.
    pub fn keep_across_exec(&self) -> io::Result<()> {
        self.all_descriptors().try_for_each(Descriptor::keep_across_exec)
    }

    /// Takes that back, where no program could be run: [`Upstreams::resume`](crate::Upstreams::resume) goes on here then.
    pub fn close_on_exec(&self) -> io::Result<()> {
        self.all_descriptors().try_for_each(Descriptor::close_on_exec)
    }

    /// Returns the calls in flight that will be answered when the servers are taken up, and no others.
    pub fn addresses(&self) -> Vec<ReturnAddress> {
        let processes = self.servers.iter().filter_map(|server| server.process.as_ref());
        let calls = processes.flat_map(|process| &process.connection.calls);
        calls.filter_map(|call| call.address.clone()?.read()).collect()
    }

    fn all_descriptors(&self) -> impl Iterator<Item = &Descriptor> {
        let processes = self.servers.iter().filter_map(|server| server.process.as_ref());
        self.host.descriptors().chain(processes.flat_map(SavedProcess::descriptors))
    }
}

/// Returns what tells a server's definition from any other, and gives none of it away.
fn definition(key: &[u8], server: &Server) -> String {
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(key) => fingerprint(server, key),
        Err(_) => String::new(),
    }
}

/// Fails what another program left in flight, where its server is not taken up.
pub(crate) fn fail_calls(server: &str, calls: Vec<SavedCall>, askers: &dyn Reopen, reason: &str) {
    for call in calls {
        let exchange = call.address.and_then(|address| askers.reopen(address.read()?));
        if let Some(exchange) = exchange {
            let fault = Fault::Died { server: server.to_owned(), tool: call.tool, reason: reason.to_owned() };
            exchange.fail(fault);
        }
    }
}
