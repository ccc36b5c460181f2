//! What is left to the program that takes our place: the guard, and what keeps each server.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Descriptor;

/// The guard and what its owner knows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedHost {
    #[serde(default)]
    pub(super) guard: Option<SavedGuard>,
    /// How many guards there have been.
    #[serde(default)]
    pub(super) generation: u32,
    /// Whether whatever falls to us came from a server.
    #[serde(default)]
    pub(super) owns_orphans: bool,
    #[serde(default)]
    pub(super) cgroups: SavedCgroups,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedGuard {
    pub(super) door: Descriptor,
    pub(super) pid: i32,
    pub(super) marker: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SavedCgroups {
    /// Whether it is known if there is a place for them.
    pub(super) is_place_known: bool,
    pub(super) place: Option<PathBuf>,
    /// The number of the next.
    pub(super) next: u32,
    /// Those that are to be removed.
    pub(super) leaving: Vec<String>,
    pub(super) is_closed: bool,
    pub(super) has_looked: bool,
}

/// The socket to a server's keeper, and where the server is kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedKeeper {
    pub(super) socket: Descriptor,
    /// What has come of its last report.
    #[serde(default)]
    pub(super) report: Vec<u8>,
    #[serde(default)]
    pub(super) cgroup: Option<SavedCgroup>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedCgroup {
    pub(super) name: String,
    pub(super) folder: Descriptor,
}

impl SavedHost {
    /// Returns what must stay open for it.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = &Descriptor> {
        self.guard.iter().map(|guard| &guard.door)
    }
}

impl SavedKeeper {
    /// Returns what must stay open for it.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = &Descriptor> {
        std::iter::once(&self.socket).chain(self.cgroup.iter().map(|cgroup| &cgroup.folder))
    }
}
