//! What is told as it happens: calls, what operators do, and what servers write.

use super::*;
use crate::feed::Topics;

// Calls are told only to who wants them, and for as long.
#[tokio::test(start_paused = true)]
async fn calls_are_told_while_somebody_wants_them() {
    let world = World::new(CONFIG);
    world.fake("a").publish(&tools(&["x"]));
    let control = operator(&world);
    let state = control.events().unwrap();
    world.call("tools/call", r#"{"name":"a__x"}"#).await;
    assert!(!world.fleet.observers().is_watched());
    let mut calls = control.events_after(None, Topics::CALL).unwrap();
    world.call("tools/call", r#"{"name":"a__x"}"#).await;
    let began = calls.try_next().unwrap();
    assert!(matches!(&began.happening, Happening::Call { call: admin::CallStage::Began(_) }));
    let ended = calls.try_next().unwrap();
    let Happening::Call { call: admin::CallStage::Ended(ended) } = &ended.happening else {
        panic!("{ended:?}")
    };
    assert_eq!((ended.call.method.as_str(), ended.outcome), ("tools/call", admin::CallOutcome::Ok));
    assert_eq!((ended.call.tool.as_deref(), ended.call.server.as_ref()), (Some("x"), Some(&named("a"))));
    assert!(calls.try_next().is_none());
    drop(calls);
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    world.call("tools/call", r#"{"name":"a__x"}"#).await;
    assert!(
        !world.fleet.observers().is_watched(),
        "the first call that nobody wants to know of was the last"
    );
    let mut calls = control.events_after(None, Topics::CALL).unwrap();
    world.call("tools/call", r#"{"name":"a__x"}"#).await;
    assert!(calls.try_next().is_some());
    drop(state);
}

#[tokio::test(start_paused = true)]
async fn what_operators_do_is_told() {
    let world = World::new(CONFIG);
    let control = operator(&world);
    let at = control.snapshot_to_follow().at;
    control.publish_audit(&admin::AuditLine { verb: "stop".to_owned(), ..admin::AuditLine::default() });
    control.publish_daemon("stopping");
    let mut events = control.events_after(Some(at), Topics::AUDIT).unwrap();
    let told = events.try_next().unwrap();
    assert!(matches!(&told.happening, Happening::Audit { line } if line.verb == "stop"));
    assert!(events.try_next().is_none());
    assert_eq!(control.cursor().seq, at.seq + 2);
}

#[tokio::test(start_paused = true)]
async fn logs_have_times_and_can_be_read_along() {
    let world = World::new(CONFIG);
    let control = operator(&world);
    let fake = world.fake("b");
    for (second, line) in [(1, "one"), (2, "two"), (3, "three")] {
        fake.says(second, line);
    }
    let words = |lines: Vec<admin::LogLine>| lines.into_iter().map(|line| line.line).collect::<Vec<_>>();
    let lines = control.logs(&named("b"), 10, Some(2000)).unwrap();
    assert_eq!(lines[0].time, "1970-01-01T00:00:02.000Z");
    assert_eq!((lines[0].server.as_deref(), lines[0].instance.as_deref()), (Some("b"), None));
    assert_eq!(words(lines), ["two", "three"]);
    assert_eq!(words(control.logs(&named("b"), 1, None).unwrap()), ["three"]);
    assert!(!fake.host().1.wants_logs(), "nobody reads along");
    let (past, mut follower) = control.follow_logs(&named("b"), 2, None).unwrap();
    assert_eq!(words(past), ["two", "three"]);
    fake.says(4, "four");
    world.fake("r").says(5, "another server's");
    fake.says(6, "six");
    for expected in ["four", "six"] {
        let Some(Followed::Line(line)) = follower.next().await else { panic!("no line") };
        assert_eq!(line.line, expected);
    }
    for at in 0..2000 {
        fake.says(at, "flood");
    }
    assert!(matches!(follower.next().await, Some(Followed::Missed(1..))), "nobody waits for it");
    drop(follower);
    fake.says(7, "the last that is looked at for nobody");
    assert!(!fake.host().1.wants_logs());
    let mut events = control.events_after(None, Topics::LOG).unwrap();
    fake.says(8, "an event");
    let event = events.try_next().unwrap();
    assert!(matches!(&event.happening, Happening::Log { line } if line.line == "an event"));
}
