//! Orders of an operator beside start, stop and restart.

use super::*;

#[tokio::test(start_paused = true)]
async fn lists_are_read_anew_and_a_disabled_server_is_not_started() {
    let world = World::new(CONFIG);
    let control = operator(&world);
    control.execute(Command::Refresh { server: named("b") }).await.unwrap();
    assert_eq!(world.fake("b").orders(), [Order::Refresh]);
    let error = control.execute(Command::Start { server: named("off") }).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Denied);
    assert_eq!(
        error.to_string(),
        "server 'off' is disabled in the config (`enabled`); enable it first: `manifold enable off`"
    );
    assert!(control.execute(Command::Stop { server: named("off") }).await.is_ok());
    let error = control.execute(Command::Start { server: named("of") }).await.unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `off`?"));
}

#[tokio::test(start_paused = true)]
async fn a_client_is_disconnected() {
    let world = World::new(CONFIG);
    let control = operator(&world);
    let client = Arc::new(FakeClient::default());
    let id = world.gateway.attach(Arc::clone(&client) as _);
    let error = control.execute(Command::Disconnect { client: id.0 + 1 }).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::UnknownClient);
    let leaves = async {
        while client.take().is_empty() {
            tokio::task::yield_now().await;
        }
        world.gateway.detach(id);
    };
    let (done, ()) = tokio::join!(control.execute(Command::Disconnect { client: id.0 }), leaves);
    assert_eq!(done, Ok(Outcome::Done));
    assert!(control.snapshot().clients.is_empty());
    let id = world.gateway.attach(Arc::clone(&client) as _);
    let error = control.execute(Command::Disconnect { client: id.0 }).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::TimedOut, "it does not go");
}

// Instances come with every client of another environment: the server stays stopped for those too.
#[tokio::test(start_paused = true)]
async fn what_is_stopped_is_stopped_for_those_who_come_later() {
    let text = r#"{"servers":{"a":{"command":"/bin/sh","env":{"T":"${TOKEN}"}}}}"#;
    let daemon = World::open(text, None, Audience::Shared);
    let control = operator(&daemon);
    let early = daemon.window(text, &[("TOKEN", "one")], "/w");
    control.execute(Command::Stop { server: named("a") }).await.unwrap();
    assert_eq!(early.used("a").orders(), [Order::Stop]);
    let late = daemon.window(text, &[("TOKEN", "two")], "/w");
    assert_eq!(late.used("a").orders(), [Order::Stop]);
    control.execute(Command::Start { server: named("a") }).await.unwrap();
    let last = daemon.window(text, &[("TOKEN", "three")], "/w");
    assert_eq!(last.used("a").orders(), []);
}
