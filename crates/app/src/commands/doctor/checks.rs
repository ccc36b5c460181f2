//! All that is looked at, in this order: what lies in files first, what has to be started later, other programs' files
//! last.

use super::{
    Check, clients, config, entries, files, gateway, machine, needs, processes, secrets, servers, sockets,
};

const fn check(
    id: &'static str,
    well: &'static str,
    run: fn(&super::Context<'_>) -> super::Outcome,
) -> Check {
    Check { id, well, run, mend: None }
}

const fn mended(
    id: &'static str,
    well: &'static str,
    run: fn(&super::Context<'_>) -> super::Outcome,
    mend: fn(&super::Context<'_>) -> Vec<super::Mended>,
) -> Check {
    Check { id, well, run, mend: Some(mend) }
}

pub(super) static CHECKS: [Check; 46] = [
    // The config
    check("config-readable", "the config can be read", config::readable),
    check("config-valid", "the config is valid", config::valid),
    check("config-servers", "every server's entry is sound", config::servers),
    check("config-unknown-keys", "every key is known", config::unknown_keys),
    check("config-warnings", "nothing in it is doubtful", config::warnings),
    mended("config-token-mode", "no token lies open in it", config::token_mode, config::close_token),
    // What servers need
    check("variables", "every variable is set", needs::variables),
    check("secrets-missing", "every secret is stored", needs::secrets),
    check("program-node", "node is there where it is needed", needs::node),
    check("program-uv", "uv is there where it is needed", needs::uv),
    check("program-docker", "docker is there where it is needed", needs::docker),
    check("program-python", "python is there where it is needed", needs::python),
    check("program-other", "every other program is there", needs::others),
    // Stored secrets
    mended("secrets-modes", "nobody else can read stored secrets", secrets::modes, secrets::close),
    check("secrets-store", "every stored secret can be opened", secrets::store),
    check("secrets-key", "the key of stored secrets is safe", secrets::key),
    // Folders and files of ours
    mended("state-folder", "the folder for state is ours", files::state, files::make_state),
    mended("cache-folder", "the cache is ours", files::cache, files::make_cache),
    mended("cache-files", "what is remembered can be read", files::cache_files, files::drop_cache_files),
    check("state-size", "state takes little room", files::state_size),
    check("log-size", "logs take little room", files::log_size),
    check("undo-records", "every record for undo can be read", files::records),
    mended("undo-modes", "nobody else can read them", files::record_modes, files::close_records),
    // Sockets and locks
    check("runtime-dir", "there is a folder for sockets", sockets::runtime_dir),
    mended("runtime-folder", "it is ours alone", sockets::folder, sockets::close_folder),
    mended("socket-modes", "sockets and locks are ours alone", sockets::modes, sockets::close_files),
    mended("stale-sockets", "no socket is left behind", sockets::stale, sockets::drop_stale),
    mended("stale-locks", "no daemon has left its files", sockets::left, sockets::drop_left),
    // The machine
    check("clock", "the date can be right", machine::clock),
    check("disk-space", "there is room on the disk", machine::disk),
    check("orphans", "no server has outlived its gateway", processes::orphans),
    check("shim-program", "clients run a program that is still there", processes::shims),
    // What runs
    check("daemon-answers", "what runs answers", gateway::answers),
    check("daemon-version", "what runs is of this version", gateway::version),
    check("daemon-upgrade", "what is installed is what runs", gateway::upgrade),
    check("daemon-config", "what runs has this config", gateway::config),
    check("http-port", "the port for HTTP is ours or free", gateway::port),
    check("server-handshake", "no server is to be started", servers::handshake),
    // Other programs' files
    check("client-file", "every client's file can be read", clients::files),
    check("client-without-us", "every client that is there has us", clients::without_us),
    mended(
        "client-entry-path",
        "every entry of ours starts a program that is there",
        clients::entry_paths,
        entries::mend,
    ),
    check("client-entry-edited", "every entry of ours is as it was written", clients::edited_entries),
    check("client-duplicates", "no client has a server that we serve", clients::duplicates),
    check("client-tool-count", "no client gets more tools than it takes", clients::tool_counts),
    check("client-tool-names", "no name is too long for a client", clients::tool_names),
    check("client-descriptions", "no description is too long for a client", clients::descriptions),
];
