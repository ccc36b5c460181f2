//! What is known of the gateway: the last snapshot, brought up to date by events, and what was asked for beside it.

pub(crate) mod logs;
pub(crate) mod problems;
pub(crate) mod pulse;
pub(crate) mod tools;
pub(crate) mod traffic;

use std::collections::{BTreeMap, VecDeque};

use manifold_admin::{
    About, CallEnded, CallStage, Client, ClientChange, ConfigChange, ConfigSource, Event, Happening,
    Namespace, Recording, RecordingChange, Server, Snapshot,
};

use logs::Logs;
use pulse::Pulse;
use tools::Tools;
use traffic::Traffic;

/// So many calls are remembered for the strip at the foot.
const MAX_CALLS: usize = 64;

/// Something, and when it was heard: spans it states count from there.
#[derive(Debug, Clone)]
pub(crate) struct Heard<T> {
    pub(crate) it: T,
    pub(crate) at: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) about: About,
    pub(crate) config: ConfigSource,
    pub(crate) servers: Vec<Heard<Server>>,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) clients: Vec<Heard<Client>>,
    pub(crate) tools: Tools,
    pub(crate) logs: Logs,
    pub(crate) traffic: Traffic,
    pub(crate) recordings: Vec<Recording>,
    /// Why recordings ended by themselves while we watched, by their names.
    pub(crate) broken_recordings: BTreeMap<String, String>,
    /// The last calls that have ended.
    pub(crate) calls: VecDeque<Heard<CallEnded>>,
    /// How it went lately, by the server's name; all of them under the empty one.
    pub(crate) pulses: BTreeMap<String, Pulse>,
    /// Since when each thing is wrong, by its key.
    pub(crate) wrong_since: BTreeMap<u64, u64>,
    /// Calls have ended since the numbers of the servers were read.
    pub(crate) is_stale: bool,
}

impl Model {
    /// Takes over everything there is to see.
    pub(crate) fn take(&mut self, about: About, snapshot: Snapshot, now: u64) {
        self.about = about;
        self.config = snapshot.config;
        self.servers = snapshot.servers.into_iter().map(|it| Heard { it, at: now }).collect();
        self.namespaces = snapshot.namespaces;
        self.clients = snapshot.clients.into_iter().map(|it| Heard { it, at: now }).collect();
        self.tools.is_stale = true;
        self.note_problems(now);
    }

    /// Takes over how the servers are, read anew for their numbers.
    pub(crate) fn take_servers(&mut self, servers: Vec<Server>, now: u64) {
        self.servers = servers.into_iter().map(|it| Heard { it, at: now }).collect();
        self.note_problems(now);
    }

    /// Takes over one thing that happened. Returns whether everything must be read anew.
    pub(crate) fn happened(&mut self, event: Event, now: u64) -> bool {
        match event.happening {
            Happening::Server { server } => {
                let known = self.servers.iter_mut().find(|one| one.it.key == server.key);
                match known {
                    Some(known) => {
                        self.tools.is_stale |= known.it.lists != server.lists;
                        *known = Heard { it: *server, at: now };
                    }
                    None => self.servers.push(Heard { it: *server, at: now }),
                }
                self.note_problems(now);
            }
            Happening::Catalog { namespace, lists } => {
                self.tools.is_stale = true;
                for one in self.namespaces.iter_mut().filter(|one| one.id == namespace) {
                    one.lists = Some(lists);
                }
            }
            Happening::Client { change, client } => {
                // Servers count their clients.
                self.is_stale = true;
                self.clients.retain(|one| one.it.id != client.id);
                if change != ClientChange::Left {
                    self.clients.push(Heard { it: *client, at: now });
                    self.clients.sort_by_key(|one| one.it.id);
                }
            }
            Happening::Config { change: ConfigChange::Refused { why } } => {
                self.config.refused = Some(why);
                self.note_problems(now);
            }
            // What was added or removed is best read as a whole.
            Happening::Config { .. } | Happening::Reset => return true,
            Happening::Call { call: CallStage::Ended(ended) } => self.call_ended(ended, now),
            Happening::Log { line } => self.logs.add(line),
            Happening::Recording { change, recording } => {
                self.recording_changed(change, *recording);
                self.note_problems(now);
            }
            Happening::Call { .. }
            | Happening::Audit { .. }
            | Happening::Daemon { .. }
            | Happening::Other => {}
        }
        false
    }

    fn recording_changed(&mut self, change: RecordingChange, recording: Recording) {
        match (change, &recording.problem) {
            (RecordingChange::Stopped, Some(why)) => {
                self.broken_recordings.insert(recording.name.clone(), why.clone());
            }
            _ => _ = self.broken_recordings.remove(&recording.name),
        }
        match self.recordings.iter_mut().find(|one| one.name == recording.name) {
            Some(known) => *known = recording,
            None => self.recordings.push(recording),
        }
    }

    fn call_ended(&mut self, ended: CallEnded, now: u64) {
        self.is_stale = true;
        let server = ended.call.server.as_ref().map(ToString::to_string);
        for name in [Some(String::new()), server].into_iter().flatten() {
            self.pulses.entry(name).or_default().beat(now, ended.took_us);
        }
        self.calls.push_back(Heard { it: ended, at: now });
        if self.calls.len() > MAX_CALLS {
            self.calls.pop_front();
        }
    }

    pub(crate) fn server(&self, name: &str) -> Option<&Heard<Server>> {
        self.servers.iter().find(|one| one.it.key.to_string() == name || one.it.key.id == name)
    }

    /// Returns how many clients would use a server, and what they are called.
    pub(crate) fn clients_of(&self, server: &Server) -> (usize, Vec<String>) {
        let shows = |id: &Option<String>| {
            let namespace = self.namespaces.iter().find(|one| one.id == *id);
            // Who has named none sees all of them.
            namespace.map_or(id.is_none(), |one| one.servers.contains(&server.key))
        };
        let names: Vec<String> = self
            .clients
            .iter()
            .filter(|one| shows(&one.it.namespace))
            .map(|one| one.it.name.clone().unwrap_or_else(|| format!("client {}", one.it.id)))
            .collect();
        let counted = server.instances.iter().filter_map(|one| one.clients.or(one.client.map(|_| 1)));
        let counted = counted.fold(None, |sum: Option<usize>, count| Some(sum.unwrap_or(0) + count));
        (counted.unwrap_or(names.len()), names)
    }

    /// Returns how many tools there are to be seen, as far as servers have told.
    pub(crate) fn tool_count(&self) -> usize {
        self.servers.iter().filter_map(|one| tool_count(&one.it)).sum()
    }
}

/// Returns how many tools a server has, or had when it last ran.
pub(crate) fn tool_count(server: &Server) -> Option<usize> {
    server.lists.map(|lists| lists.tools).or(server.saved.and_then(|saved| saved.tools))
}
