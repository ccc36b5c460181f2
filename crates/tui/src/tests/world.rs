//! A gateway that has a bit of everything.

use std::collections::BTreeMap;

use manifold_admin::{
    About, CallBegan, CallEnded, CallOutcome, CallStage, Calls, Client, ClientTransport, Cursor, Direction,
    Error, Event, Frame, FrameClient, FrameKind, FrameStatus, GatewayKind, Happening, Hop, Instance, Kind,
    ListedItem, Lists, LogLine, Namespace, PermissionSummary, Problem, Protocol, Reason, RuleCounts, Server,
    ServerId, Severity, Sharing, Snapshot, Start, State as ServerState, Target, TrafficItem,
};
use serde_json::value::RawValue;

use crate::effect::{Frames, News};
use crate::input::Keys;
use crate::model::tools::Listing;
use crate::state::State;
use crate::{Look, Options};

/// Returns a state that has heard all of it, ten seconds after the start.
pub(crate) fn state(size: (u16, u16)) -> State {
    let mut state = State::new(Keys::new(&BTreeMap::new()).unwrap(), &Options::default(), size);
    state.tick(10_000);
    state.news(connected());
    state.news(News::Tools(Ok(listing())));
    for (at, (server, text)) in LINES.iter().enumerate() {
        let line = LogLine {
            time: format!("2026-11-18T04:00:{at:02}.250Z"),
            server: Some((*server).to_owned()),
            line: (*text).to_owned(),
            ..LogLine::default()
        };
        state.news(happened(Happening::Log { line }));
    }
    for number in 0..7 {
        state.tick(10_000 + number * 700);
        state.news(happened(call(number)));
    }
    for frame in frames() {
        let run = state.traffic_run;
        state.news(News::Traffic { run, item: Frames::Item(TrafficItem::Frame(Box::new(frame))) });
    }
    state.tick(16_000);
    state
}

pub(crate) fn plain(size: (u16, u16)) -> State {
    let mut state = state(size);
    state.look = Look { without_color: true, ascii: true };
    state
}

pub(crate) fn happened(happening: Happening) -> News {
    News::Event(Box::new(Event { seq: 1, happening }))
}

const LINES: [(&str, &str); 4] = [
    ("github", "listening on stdio"),
    ("files", "indexing /home/ada/project"),
    ("files", "1204 files in 0.8 s"),
    ("db", "error: connect ECONNREFUSED 127.0.0.1:5432"),
];

pub(crate) fn connected() -> News {
    let about = About {
        version: "0.1.0".to_owned(),
        kind: GatewayKind::Daemon,
        pid: 4711,
        profile: "manifold".to_owned(),
        ..About::default()
    };
    News::Connected { about: Box::new(about), snapshot: Box::new(snapshot()) }
}

pub(crate) fn server(id: &str, state: ServerState, tools: usize) -> Server {
    Server {
        key: ServerId { schema: None, id: id.to_owned() },
        name: id.to_owned(),
        exposed_id: id.to_owned(),
        kind: Kind::Stdio,
        target: Target::Program { command: "npx".to_owned(), arguments: 2 },
        enabled: true,
        start: Start::Lazy,
        sharing: Sharing::Shared,
        state,
        since_ms: Some(7_260_000),
        lists: (tools > 0).then(|| Lists { tools, ..Lists::default() }),
        tool_bytes: (tools > 0).then_some(tools * 812),
        ..Server::default()
    }
}

pub(crate) fn snapshot() -> Snapshot {
    let mut github = server("github", ServerState::Ready, 41);
    github.env = vec!["GITHUB_TOKEN".to_owned()];
    github.calls =
        Some(Calls { total: Some(1204), failed: Some(2), p95_us: Some(210_000), ..Calls::default() });
    let instance = |pid, clients, differs: &[&str]| Instance {
        state: ServerState::Ready,
        pid: Some(pid),
        clients: Some(clients),
        differs: differs.iter().map(|name| (*name).to_owned()).collect(),
        memory_bytes: Some(44_000_000),
        since_ms: 7_260_000,
        protocol: Some(Protocol::of("2025-11-25")),
        restarts: Some(1),
        ..Instance::default()
    };
    github.instances = vec![instance(5101, 2, &["GITHUB_TOKEN"]), instance(5177, 1, &["GITHUB_TOKEN"])];
    github.instances[0].last_error = Some(Error {
        reason: Reason::TimedOut,
        text: "Server 'github' did not answer within 60 s".to_owned(),
        hint: Some("callTimeout sets how long a call may take".to_owned()),
        ago_ms: Some(60_000),
    });
    let mut files = server("files", ServerState::Starting, 11);
    files.since_ms = Some(2000);
    let mut db = server("db", ServerState::Failed, 0);
    db.error = Some(Error {
        reason: Reason::FailedToStart,
        text: "Server 'db' failed to start: it ended at once with status 1".to_owned(),
        hint: Some("see what it wrote: `manifold logs db`".to_owned()),
        ago_ms: Some(42_000),
    });
    db.since_ms = Some(42_000);
    let mut docs = server("docs", ServerState::NeedsLogin, 6);
    docs.kind = Kind::Http;
    docs.target = Target::Address { origin: "https://docs.example".to_owned() };
    let mut old = server("old", ServerState::Disabled, 0);
    old.since_ms = None;
    let servers = vec![github, files, db, docs, server("time", ServerState::Idle, 2), old];
    let keys = |ids: &[&str]| ids.iter().map(|id| ServerId::from(*id)).collect::<Vec<_>>();
    let mut snapshot = Snapshot { at: Cursor { epoch: 1, seq: 9 }, ..Snapshot::default() };
    snapshot.namespaces = vec![
        Namespace {
            id: Some("work".to_owned()),
            name: "work".to_owned(),
            description: "What the day job needs.".to_owned(),
            enabled: true,
            served: true,
            servers: keys(&["github", "files"]),
            lists: Some(Lists { tools: 52, ..Lists::default() }),
            clients: Some(2),
            permissions: PermissionSummary {
                tools: RuleCounts { allow: 3, deny: 1 },
                ..PermissionSummary::default()
            },
        },
        Namespace {
            name: "all".to_owned(),
            enabled: true,
            servers: keys(&["github", "files", "db", "docs", "time"]),
            ..Namespace::default()
        },
    ];
    let client = |id, name: &str, namespace: Option<&str>, connected_ms| Client {
        id,
        name: Some(name.to_owned()),
        version: Some("2.1".to_owned()),
        protocol: Some(Protocol::of("2025-11-25")),
        transport: Some(ClientTransport::Stdio),
        namespace: namespace.map(str::to_owned),
        pid: Some(4000 + u32::try_from(id).unwrap()),
        cwd: Some("/home/ada/project".to_owned()),
        connected_ms,
        ..Client::default()
    };
    snapshot.clients = vec![
        client(1, "claude-code", Some("work"), 3_600_000),
        client(2, "cursor", Some("work"), 240_000),
        client(3, "zed", None, 20_000),
    ];
    snapshot.servers = servers;
    snapshot.config.problems = vec![Problem {
        severity: Severity::Warning,
        line: Some(12),
        place: "servers.old".to_owned(),
        what: "has a key `comand` that means nothing".to_owned(),
        hint: Some("did you mean `command`?".to_owned()),
        ..Problem::default()
    }];
    snapshot
}

pub(crate) fn listing() -> Listing {
    let tool = |name: &str, server: &str, about: &str, bytes| ListedItem {
        name: format!("{server}__{name}"),
        server: server.to_owned(),
        original: name.to_owned(),
        description: Some(about.to_owned()),
        bytes,
        item: RawValue::from_string(format!("{{\"name\":\"{name}\",\"inputSchema\":{SCHEMA}}}")).ok(),
    };
    Listing {
        items: vec![
            tool("create_issue", "github", "Open an issue in a repository", 1804),
            tool("search_code", "github", "Search code across repositories", 1210),
            tool("read_file", "files", "Read a file below the root", 640),
            tool("write_file", "files", "Write a file below the root", 702),
            tool("now", "time", "The time in a zone", 310),
        ],
        ..Listing::default()
    }
}

const SCHEMA: &str = r#"{"type":"object","required":["path"],"properties":{"path":{"type":"string","description":"Where it is"},"lines":{"type":"integer","default":100},"follow":{"type":"boolean"},"mode":{"enum":["text","binary"]}}}"#;

fn call(number: u64) -> Happening {
    let call = CallBegan {
        number,
        method: "tools/call".to_owned(),
        tool: Some("github__search_code".to_owned()),
        client: Some(1 + number % 2),
        server: Some(ServerId::from("github")),
        ..CallBegan::default()
    };
    let outcome = if number == 4 { CallOutcome::ToolError } else { CallOutcome::Ok };
    let ended = CallEnded { call, outcome, took_us: 12_000 + number * 31_000, response_bytes: Some(4200) };
    Happening::Call { call: CallStage::Ended(ended) }
}

pub(crate) fn frames() -> Vec<Frame> {
    let body = |text: &str| RawValue::from_string(text.to_owned()).ok();
    let frame = |n, hop, dir, kind| Frame {
        n,
        t: 61_000_000_000 + n * 3_400_000,
        hop,
        dir,
        kind,
        client: Some(FrameClient { id: Some(1), name: Some("claude-code".to_owned()), version: None }),
        server: Some("github".to_owned()),
        method: Some("tools/call".to_owned()),
        tool: Some("github__search_code".to_owned()),
        call: Some(88),
        bytes: 212,
        ..Frame::default()
    };
    let request = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"github__search_code","arguments":{"query":"fn main"}}}"#;
    let mut frames = vec![
        Frame { body: body(request), ..frame(1, Hop::Client, Direction::In, FrameKind::Request) },
        frame(2, Hop::Server, Direction::Out, FrameKind::Request),
        frame(3, Hop::Server, Direction::In, FrameKind::Response),
        frame(4, Hop::Client, Direction::Out, FrameKind::Response),
    ];
    for frame in &mut frames[2..] {
        (frame.status, frame.took) = (Some(FrameStatus::Ok), Some(41_000_000));
        frame.bytes = 4200;
    }
    frames
}
