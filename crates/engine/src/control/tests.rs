//! The operator's view and hands, over fakes.

mod orders;
mod told;
mod usage;

use expect_test::expect;
use manifold_admin::{
    ClientChange, Command, ConfigChange, ErrorCode, Happening, Listener, Outcome, Reason, ServerId, State,
};
use manifold_protocol::Fault;

use super::*;
use crate::audience::Audience;
use crate::fake::{self, Listener as FakeClient, World, tools};
use crate::upstream::{Order, Phase};

const CONFIG: &str = r#"{"servers":{
        "a":{"builtin":"time","name":"Alpha"},
        "b":{"command":"/bin/sh","args":["argument-secret"],"env":{"KEY":"env-secret-value"}},
        "r":{"url":"https://me:user-secret@example.com:8443/path-secret?key=query-secret",
             "headers":{"X-Token":"header-secret-value"},"eager":true},
        "off":{"command":"/bin/sh","enabled":false}},
    "namespaces":[{"id":"n","name":"Main","description":"The one","serverIds":["a","b"],"denyByDefault":true,
                   "serverDefaults":{"a":false}},
                  {"id":"m","serverIds":["r"]}],
    "toolPermissions":[{"namespaceId":"n","serverId":"b","toolName":"x","enabled":true},
                       {"namespaceId":"n","serverId":"a","toolName":"y","enabled":false}]}"#;

struct NoFile;

impl Reloader for NoFile {
    fn reload(&self) -> BoxFuture<Result<ReloadReport, String>> {
        Box::pin(std::future::ready(Err("there is no file".to_owned())))
    }
}

fn operator(world: &World) -> Control {
    let program = Program { version: "1.2.3".to_owned(), build: Some("b7".to_owned()), pid: Some(77) };
    Control::new(&world.fleet, Arc::new(NoFile), program)
}

fn named(id: &str) -> ServerId {
    ServerId { schema: None, id: id.to_owned() }
}

fn failed_to_start(id: &str) -> Phase {
    Phase::Failed(Fault::FailedToStart { server: id.to_owned(), reason: "no".to_owned() })
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_shows_the_whole_fleet() {
    let world = World::open(CONFIG, Some("n"), Audience::Shared);
    let control = operator(&world);
    let _open = control.listening(Listener { transport: "http".to_owned(), ..Listener::default() });
    world.fake("a").publish(&tools(&["x", "y"]));
    world.fake("b").vanish(failed_to_start("b"));
    world.fake("off").vanish(Phase::Stopped);
    world.gateway.attach(Arc::new(FakeClient::default()));
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let mut snapshot = control.snapshot();
    // They differ in every run.
    snapshot.at = admin::Cursor::default();
    snapshot.clients[0].id = 0;
    expect![[r#"
        {
          "at": "0-0",
          "gateway": {
            "version": "1.2.3",
            "build": "b7",
            "pid": 77,
            "uptimeMs": 3000,
            "profile": "manifold",
            "listeners": [
              {
                "transport": "http",
                "needsToken": false
              }
            ]
          },
          "config": {
            "path": "config.json",
            "format": "servers",
            "problems": []
          },
          "servers": [
            {
              "id": "a",
              "name": "Alpha",
              "exposedId": "a",
              "kind": "builtin",
              "target": {
                "type": "builtin",
                "name": "time"
              },
              "enabled": true,
              "start": "lazy",
              "sharing": "shared",
              "state": "ready",
              "sinceMs": 0,
              "pid": 7,
              "lists": {
                "tools": 2,
                "prompts": 0,
                "resources": 0,
                "templates": 0
              },
              "toolBytes": 24,
              "instances": [
                {
                  "state": "ready",
                  "sinceMs": 0,
                  "pid": 7
                }
              ]
            },
            {
              "id": "b",
              "name": "b",
              "exposedId": "b",
              "kind": "stdio",
              "target": {
                "type": "program",
                "command": "/bin/sh",
                "arguments": 1
              },
              "enabled": true,
              "start": "lazy",
              "sharing": "shared",
              "env": [
                "KEY"
              ],
              "state": "failed",
              "sinceMs": 0,
              "error": {
                "reason": "failed-to-start",
                "text": "Server 'b' failed to start: no",
                "agoMs": 0
              },
              "instances": [
                {
                  "state": "failed",
                  "sinceMs": 0,
                  "error": {
                    "reason": "failed-to-start",
                    "text": "Server 'b' failed to start: no",
                    "agoMs": 0
                  }
                }
              ]
            },
            {
              "id": "r",
              "name": "r",
              "exposedId": "r",
              "kind": "http",
              "target": {
                "type": "address",
                "origin": "https://example.com:8443"
              },
              "enabled": true,
              "start": "eager",
              "sharing": "shared",
              "headers": [
                "X-Token"
              ],
              "state": "idle",
              "sinceMs": 0,
              "instances": [
                {
                  "state": "idle",
                  "sinceMs": 0
                }
              ]
            },
            {
              "id": "off",
              "name": "off",
              "exposedId": "off",
              "kind": "stdio",
              "target": {
                "type": "program",
                "command": "/bin/sh",
                "arguments": 0
              },
              "enabled": false,
              "start": "lazy",
              "sharing": "shared",
              "state": "disabled",
              "sinceMs": 0,
              "instances": [
                {
                  "state": "stopped",
                  "sinceMs": 0
                }
              ]
            }
          ],
          "namespaces": [
            {
              "id": "n",
              "name": "Main",
              "description": "The one",
              "enabled": true,
              "served": true,
              "servers": [
                {
                  "id": "a"
                },
                {
                  "id": "b"
                }
              ],
              "lists": {
                "tools": 1,
                "prompts": 0,
                "resources": 0,
                "templates": 0
              },
              "clients": 1,
              "permissions": {
                "denyByDefault": true,
                "serverDefaults": {
                  "a": false
                },
                "tools": {
                  "allow": 1,
                  "deny": 1
                },
                "prompts": {
                  "allow": 0,
                  "deny": 0
                },
                "resources": {
                  "allow": 0,
                  "deny": 0
                }
              }
            },
            {
              "id": "m",
              "name": "m",
              "description": "",
              "enabled": true,
              "served": false,
              "servers": [
                {
                  "id": "r"
                }
              ],
              "permissions": {
                "denyByDefault": false,
                "tools": {
                  "allow": 0,
                  "deny": 0
                },
                "prompts": {
                  "allow": 0,
                  "deny": 0
                },
                "resources": {
                  "allow": 0,
                  "deny": 0
                }
              }
            }
          ],
          "clients": [
            {
              "id": 0,
              "namespace": "n",
              "connectedMs": 3000
            }
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&snapshot).unwrap());
}

// What an operator sees may be copied anywhere.
#[tokio::test]
async fn no_secret_is_in_a_snapshot_or_an_event() {
    let world = World::new(CONFIG);
    let control = operator(&world);
    let mut events = control.events().unwrap();
    let reason = "it said env-secret-value".to_owned();
    world.fake("b").vanish(Phase::Failed(Fault::FailedToStart { server: "b".to_owned(), reason }));
    let event = events.next().await.unwrap();
    let shown = format!(
        "{}{}",
        serde_json::to_string(&control.snapshot()).unwrap(),
        serde_json::to_string(&*event).unwrap()
    );
    assert!(shown.contains("\"KEY\"") && shown.contains("\"X-Token\""), "{shown}");
    assert!(shown.contains("it said ***"), "{shown}");
    for secret in ["argument", "env", "user", "path", "query", "header"] {
        assert!(!shown.contains(&format!("{secret}-secret")), "{secret}: {shown}");
    }
}

#[tokio::test]
async fn commands_reach_every_server_of_the_fleet() {
    let world = World::open(CONFIG, Some("n"), Audience::One);
    let control = operator(&world);
    let answer = control.execute(Command::Restart { server: named("r") }).await;
    let Ok(Outcome::Server { server }) = answer else { panic!("{answer:?}") };
    assert_eq!((server.key, server.state), (named("r"), State::Idle));
    assert_eq!(world.fake("r").orders(), [Order::Restart]);
    control.execute(Command::Stop { server: named("a") }).await.unwrap();
    control.execute(Command::Start { server: named("a") }).await.unwrap();
    assert_eq!(world.fake("a").orders(), [Order::Stop, Order::Start]);
    assert_eq!(control.logs(&named("r"), 3, None).unwrap()[0].line, "the last 3 lines");
}

#[tokio::test]
async fn what_cannot_be_done_is_said_by_a_code() {
    let world = World::new(CONFIG);
    let control = operator(&world);
    let code = async |command| control.execute(command).await.unwrap_err().code;
    assert_eq!(code(Command::Start { server: named("nobody") }).await, ErrorCode::UnknownServer);
    let elsewhere = ServerId { schema: Some("s".to_owned()), id: "a".to_owned() };
    assert_eq!(code(Command::Start { server: elsewhere }).await, ErrorCode::UnknownServer);
    assert_eq!(code(Command::Reload).await, ErrorCode::ConfigRefused);
    assert_eq!(code(Command::Other).await, ErrorCode::Unsupported);
    assert_eq!(code(Command::Disconnect { client: u64::MAX }).await, ErrorCode::UnknownClient);
    let fault =
        Fault::SignInNeeded { server: "b".to_owned(), account: None, state: "needs login", reason: None };
    let error = words::refusal(&fault, named("b"));
    assert_eq!((error.code, error.server), (ErrorCode::SignIn, Some(named("b"))));
    drop(world);
    let gone = control.execute(Command::Start { server: named("a") }).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::ShuttingDown);
    assert!(control.events().is_none());
    assert_eq!(control.snapshot().servers, []);
}

#[tokio::test]
async fn servers_of_several_schemas_are_told_apart() {
    let world = World::new(
        r#"{"schemas":{"one":{"mcpServers":{"x":{"builtin":"time"}}},"two":{"mcpServers":{"x":{"builtin":"time"}}}}}"#,
    );
    let control = operator(&world);
    let error = control.execute(Command::Stop { server: named("x") }).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::AmbiguousServer);
    let two = ServerId { schema: Some("two".to_owned()), id: "x".to_owned() };
    let answer = control.execute(Command::Stop { server: two.clone() }).await;
    assert!(matches!(&answer, Ok(Outcome::Server { server }) if server.key == two), "{answer:?}");
}

#[tokio::test]
async fn a_change_of_a_server_is_told_with_all_there_is_to_know() {
    let world = World::open(CONFIG, Some("m"), Audience::Shared);
    let control = operator(&world);
    let mut events = control.events().unwrap();
    let at = control.snapshot().at.seq;
    // A server of another namespace than the one that is served: the operator sees the whole fleet.
    world.fake("a").publish(&tools(&["x", "y"]));
    let event = events.next().await.unwrap();
    assert_eq!(event.seq, at + 1);
    let Happening::Server { server } = &event.happening else { panic!("{event:?}") };
    assert_eq!((&server.key, server.state), (&named("a"), State::Ready));
    assert_eq!(server.lists.map(|lists| lists.tools), Some(2));
    // Of one that is served, its clients' lists are told of as well.
    world.fake("r").publish(&tools(&["z"]));
    let catalog = events.next().await.unwrap();
    let Happening::Catalog { namespace, lists } = &catalog.happening else { panic!("{catalog:?}") };
    assert_eq!((namespace.as_deref(), lists.tools), (Some("m"), 1));
    assert!(
        matches!(&events.next().await.unwrap().happening, Happening::Server { server } if server.key == named("r"))
    );
    world.fake("r").vanish(failed_to_start("r"));
    events.next().await.unwrap();
    let event = events.next().await.unwrap();
    let Happening::Server { server } = &event.happening else { panic!("{event:?}") };
    assert_eq!(server.state, State::Failed);
    assert_eq!(server.error.as_ref().map(|error| error.reason), Some(Reason::FailedToStart));
}

#[tokio::test]
async fn clients_that_come_and_leave_are_told_of() {
    let world = World::open(CONFIG, Some("n"), Audience::Shared);
    let mut events = operator(&world).events().unwrap();
    let id = world.gateway.attach(Arc::new(FakeClient::default()));
    let listens = world.gateway.attach_for(id, Arc::new(FakeClient::default()));
    world.gateway.client_changed(id);
    world.gateway.detach(listens);
    world.gateway.detach(id);
    world.gateway.detach(id);
    world.fleet.keep_config("the end of this test".to_owned(), "now".to_owned());
    for expected in [ClientChange::Came, ClientChange::Changed, ClientChange::Left] {
        let event = events.next().await.unwrap();
        let Happening::Client { change, client } = &event.happening else { panic!("{event:?}") };
        assert_eq!((*change, client.id, client.namespace.as_deref()), (expected, id.0, Some("n")));
    }
    assert!(matches!(events.next().await.unwrap().happening, Happening::Config { .. }));
}

#[tokio::test]
async fn a_new_config_and_a_refused_one_are_told_of() {
    let world = World::new(&fake::servers(&["a", "b"], ""));
    let control = operator(&world);
    let mut events = control.events().unwrap();
    let mut next = async || loop {
        if let Happening::Config { change } = &events.next().await.unwrap().happening {
            return change.clone();
        }
    };
    world.fleet.keep_config("line 3".to_owned(), "now".to_owned());
    assert_eq!(next().await, ConfigChange::Refused { why: "line 3".to_owned() });
    assert_eq!(control.snapshot().config.refused.as_deref(), Some("line 3"));
    world.fleet.apply(Arc::new(fake::config(&fake::servers(&["a", "c"], "")))).await;
    let report = ReloadReport {
        added: vec![named("c")],
        removed: vec![named("b")],
        unchanged: 1,
        ..ReloadReport::default()
    };
    assert_eq!(next().await, ConfigChange::Reloaded { report });
    assert_eq!(control.snapshot().config.refused, None);
}

#[test]
fn a_config_alone_is_a_snapshot_of_which_nothing_runs() {
    let snapshot = configured(&fake::config(CONFIG));
    let states: Vec<_> = snapshot.servers.iter().map(|server| server.state).collect();
    assert_eq!(states, [State::Idle, State::Idle, State::Idle, State::Disabled]);
    assert!(snapshot.servers.iter().all(|server| server.instances.is_empty() && server.since_ms.is_none()));
    assert!(snapshot.namespaces.iter().all(|namespace| !namespace.served));
    assert_eq!((snapshot.gateway.uptime_ms, snapshot.gateway.pid), (None, None));
}
