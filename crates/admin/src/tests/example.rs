//! A gateway as it may be, with something in every place.

use crate::*;

pub(crate) fn server_id(id: &str) -> ServerId {
    ServerId { schema: None, id: id.to_owned() }
}

pub(crate) fn problem() -> Problem {
    Problem {
        severity: Severity::Error,
        file: Some("/etc/m.json".to_owned()),
        line: Some(12),
        place: "servers.git".to_owned(),
        what: "no such program".to_owned(),
        hint: Some("install it".to_owned()),
    }
}

pub(crate) fn call() -> CallBegan {
    CallBegan {
        number: 17,
        method: "tools/call".to_owned(),
        tool: Some("git__log".to_owned()),
        client: Some(1),
        namespace: Some("work".to_owned()),
        server: Some(server_id("git")),
        request_bytes: Some(120),
    }
}

fn failure(ago_ms: u64) -> Error {
    Error {
        reason: Reason::FailedToStart,
        text: "Server 'git' failed to start: it ended at once".to_owned(),
        hint: Some("see its log".to_owned()),
        ago_ms: Some(ago_ms),
    }
}

/// A program that does not come up.
pub(crate) fn failed_server() -> Server {
    Server {
        key: server_id("git"),
        name: "Git".to_owned(),
        exposed_id: "git".to_owned(),
        kind: Kind::Stdio,
        target: Target::Program { command: "uvx".to_owned(), arguments: 1 },
        enabled: true,
        start: Start::Eager,
        sharing: Sharing::PerClient,
        env: vec!["GIT_TOKEN".to_owned()],
        state: State::Failed,
        since_ms: Some(2_000),
        error: Some(failure(2_000)),
        problems: vec![problem()],
        saved: Some(Saved { era: Some(Era::Legacy), tools: Some(12), age_ms: Some(3_600_000) }),
        instances: vec![Instance {
            key: Some("9c2f".to_owned()),
            client: Some(1),
            state: State::Failed,
            since_ms: 2_000,
            restarts: Some(0),
            failures: Some(3),
            retry_in_ms: Some(1_500),
            error: Some(failure(2_000)),
            last_error: Some(failure(2_000)),
            ..Instance::default()
        }],
        ..Server::default()
    }
}

/// An address that answers, though not now.
fn remote_server() -> Server {
    let calls = Calls {
        in_flight: Some(2),
        total: Some(1_204),
        failed: Some(2),
        p50_us: Some(900),
        p95_us: Some(4_000),
    };
    Server {
        key: ServerId { schema: Some("main".to_owned()), id: "github".to_owned() },
        name: "GitHub".to_owned(),
        exposed_id: "github".to_owned(),
        kind: Kind::Http,
        target: Target::Address { origin: "https://api.example".to_owned() },
        enabled: true,
        start: Start::Lazy,
        sharing: Sharing::Shared,
        headers: vec!["Authorization".to_owned()],
        state: State::Ready,
        unresponsive: true,
        since_ms: Some(7_200_000),
        lists: Some(Lists { tools: 41, prompts: 2, resources: 1, templates: 1 }),
        calls: Some(calls),
        sign_in: Some(SignIn {
            state: "ready".to_owned(),
            detail: None,
            account: "default".to_owned(),
            issuer: Some("login.example".to_owned()),
            scopes: vec!["read".to_owned()],
            until: Some("2026-11-18T12:00:00Z".to_owned()),
            last_refresh: Some("2026-11-18T11:00:00Z".to_owned()),
            store: Some("plain".to_owned()),
        }),
        instances: vec![Instance {
            state: State::Ready,
            unresponsive: true,
            since_ms: 7_200_000,
            pid: Some(4_242),
            protocol: Some(Protocol::of("2026-07-28")),
            restarts: Some(1),
            failures: Some(0),
            last_error: Some(failure(9_000_000)),
            calls: Some(calls),
            ..Instance::default()
        }],
        ..Server::default()
    }
}

pub(crate) fn snapshot() -> Snapshot {
    Snapshot {
        at: Cursor { epoch: 0xfe, seq: 12 },
        gateway: Gateway {
            version: "0.1.0".to_owned(),
            build: Some("abc123".to_owned()),
            pid: Some(77),
            uptime_ms: Some(9_000_000),
            profile: "manifold".to_owned(),
            listeners: vec![Listener {
                transport: "http".to_owned(),
                address: Some("127.0.0.1:8080".to_owned()),
                needs_token: true,
            }],
            degraded: vec![DegradedPart { part: "state".to_owned(), why: "redis is away".to_owned() }],
        },
        config: ConfigSource {
            path: Some("/etc/m.json".to_owned()),
            format: Format::McpServers,
            client: Some("Claude Desktop".to_owned()),
            default_namespace: Some("work".to_owned()),
            revision: Some("9c2f".to_owned()),
            problems: vec![problem()],
            unread: None,
            refused: Some("line 3: a comma is missing".to_owned()),
        },
        servers: vec![failed_server(), remote_server()],
        namespaces: vec![Namespace {
            id: Some("work".to_owned()),
            name: "Work".to_owned(),
            description: "What work needs".to_owned(),
            enabled: true,
            served: true,
            servers: vec![server_id("git")],
            lists: Some(Lists { tools: 41, ..Lists::default() }),
            clients: Some(1),
            permissions: PermissionSummary {
                deny_by_default: true,
                server_defaults: [("git".to_owned(), false)].into(),
                tools: RuleCounts { allow: 3, deny: 1 },
                ..PermissionSummary::default()
            },
        }],
        clients: vec![Client {
            id: 1,
            principal: Some(Principal::Token { name: Some("laptop".to_owned()) }),
            name: Some("claude-code".to_owned()),
            version: Some("2.1".to_owned()),
            protocol: Some(Protocol::of("2025-11-25")),
            transport: Some(ClientTransport::Http),
            namespace: Some("work".to_owned()),
            pid: Some(4711),
            cwd: Some("/home/me/project".to_owned()),
            shim: Some("0.1.0".to_owned()),
            connected_ms: 60_000,
            calls_in_flight: Some(1),
        }],
    }
}
