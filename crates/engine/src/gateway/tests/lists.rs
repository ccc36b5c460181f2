use std::sync::Arc;
use std::time::Duration;

use manifold_protocol::{Fault, Kind, Revision, notification};
use tokio::time::Instant;

use crate::changes::SETTLE;
use crate::discovery::PATIENCE;
use crate::fake::{Listener, World, raw, servers, tools};
use crate::upstream::{ClientFacts, Phase};

const SECOND: Duration = Duration::from_secs(1);

// S1-27, S1-30
#[tokio::test(start_paused = true)]
async fn a_list_discovers_what_is_not_known_and_remembers_it() {
    let world = World::new(&servers(&["a", "b"], r#""managerTools":false"#));
    world.fake("a").offers(&tools(&["x"]));
    world.fake("b").offers(&tools(&["y"]));
    assert_eq!(world.names(Kind::Tools).await, ["a__x", "b__y"]);
    assert_eq!(world.names(Kind::Prompts).await, [""; 0]);
    assert_eq!(world.names(Kind::Tools).await, ["a__x", "b__y"]);
    assert_eq!((world.fake("a").discovered(), world.fake("b").discovered()), (1, 1));
}

// S1-29, decision 18
#[tokio::test(start_paused = true)]
async fn a_list_waits_for_so_long_and_announces_who_comes_late() {
    let world = World::new(&servers(&["fast", "slow"], r#""managerTools":false"#));
    world.fake("fast").offers(&tools(&["x"]));
    world.fake("slow").offers(&tools(&["y"]));
    world.fake("slow").takes(20 * SECOND);
    let listener = Arc::new(Listener::default());
    let client = world.gateway.attach(Arc::clone(&listener) as _);

    let start = Instant::now();
    let list = world.call_as(client, "tools/list", "{}").await;
    assert_eq!(start.elapsed(), PATIENCE);
    assert!(list.contains("fast__x") && !list.contains("slow__y"), "{list}");
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(listener.take(), [""; 0]);
    tokio::time::sleep(6 * SECOND + 2 * SETTLE).await;
    assert_eq!(listener.take(), ["notifications/tools/list_changed"]);
    assert_eq!(world.names(Kind::Tools).await, ["fast__x", "slow__y"]);
}

// D2: nobody waits for a start that ends with us, but a call is still brought to its server
#[tokio::test(start_paused = true)]
async fn a_list_does_not_wait_when_we_leave_and_a_call_does() {
    let world = World::new(&servers(&["fast", "slow"], r#""managerTools":false"#));
    world.fake("fast").publish(&tools(&["x"]));
    world.fake("slow").offers(r#"{"tools":[{"name":"y"}],"prompts":[{"name":"greet"}]}"#);
    world.fake("slow").takes(3 * SECOND);
    let start = Instant::now();
    let leave = async {
        tokio::time::sleep(SECOND).await;
        world.gateway.leave();
    };
    let list = async { (world.call("tools/list", "{}").await, start.elapsed()) };
    let prompt = async { (world.call("prompts/get", r#"{"name":"greet"}"#).await, start.elapsed()) };
    let ((list, listed), (prompt, got), ()) = tokio::join!(list, prompt, leave);
    assert!(list.contains("fast__x") && !list.contains("slow__y"), "{list}");
    assert_eq!((listed, got), (SECOND, 3 * SECOND));
    assert!(prompt.contains("greet"), "{prompt}");
    world.fake("slow").vanish(Phase::Idle);
    assert_eq!(world.names(Kind::Tools).await, ["fast__x"]);
    assert_eq!(
        (start.elapsed(), world.fake("slow").discovered()),
        (3 * SECOND, 1),
        "nothing more is started"
    );
}

// S1-28, D3
#[tokio::test(start_paused = true)]
async fn servers_are_discovered_in_turn_and_once_whoever_asks() {
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let world = World::new(&servers(&ids, ""));
    for id in ids {
        world.fake(id).takes(SECOND);
    }
    let start = Instant::now();
    let (first, second) = tokio::join!(world.names(Kind::Tools), world.names(Kind::Prompts));
    assert_eq!((first.len(), second.len()), (1, 0));
    let places = 2 * std::thread::available_parallelism().unwrap().get();
    let in_line = Duration::from_millis(400) * u32::try_from((ids.len() - 1) / places).unwrap();
    assert_eq!(start.elapsed(), SECOND + in_line, "a few at a time, once for both");
    assert!(ids.iter().all(|id| world.fake(id).discovered() == 1) && world.most_discoveries() > 1);
}

// D3: what is not listed because it is still starting is said, be it in line or under way
#[tokio::test(start_paused = true)]
async fn who_is_still_starting_is_said() {
    let ids: Vec<String> = (0..200).map(|at| format!("s{at}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let world = World::new(&servers(&ids, r#""managerTools":false"#));
    world.fake("s0").offers(&tools(&["x"]));
    for id in &ids[1..] {
        world.fake(id).takes(60 * SECOND);
    }
    assert_eq!(world.gateway.introduction().instructions, None, "nothing is starting yet");
    let start = Instant::now();
    assert_eq!(world.names(Kind::Tools).await, ["s0__x"]);
    assert_eq!(start.elapsed(), PATIENCE);
    let said = world.gateway.introduction().instructions.unwrap();
    assert!(
        said.starts_with("Still starting") && said.contains(": s1, s2, ") && said.contains(", s199."),
        "{said}"
    );
    assert!(!said.contains("s0,"), "{said}");
    let states: Vec<&str> = world.control.servers().iter().map(|row| row.state).collect();
    assert_eq!(states.iter().filter(|state| **state == "starting").count(), 199, "{states:?}");
    tokio::time::sleep(200 * SECOND).await;
    assert_eq!(world.gateway.introduction().instructions, None);
}

// D4: no list waits for a server that has failed, nor starts it
#[tokio::test(start_paused = true)]
async fn a_list_does_not_ask_a_server_that_has_failed() {
    let world = World::new(&servers(&["bad", "good"], r#""managerTools":false"#));
    world.fake("good").offers(&tools(&["x"]));
    let fault = Fault::FailedToStart { server: "bad".to_owned(), reason: "no".to_owned() };
    world.fake("bad").vanish(Phase::Failed(fault));
    for _ in 0..3 {
        assert_eq!(world.names(Kind::Tools).await, ["good__x"]);
    }
    assert_eq!(world.fake("bad").discovered(), 0);
    // A call still reaches it.
    world.call("tools/call", r#"{"name":"bad__y"}"#).await;
    assert_eq!(world.fake("bad").calls().len(), 1);
}

// S1-31, S1-32
#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_missing_and_the_others_are_there() {
    let world = World::new(&servers(&["bad", "good"], r#""managerTools":false"#));
    world.fake("bad").offers_nothing();
    world.fake("good").offers(&tools(&["x"]));
    assert_eq!(world.names(Kind::Tools).await, ["good__x"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_starts_no_server_that_must_not_run() {
    let world = World::new(
        r#"{"mcpServers":{"manual":{"builtin":"time","eager":false,"lazy":false},"off":{"builtin":"time","disabled":true},
            "broken":{"command":"no-such-program"},"stopped":{"builtin":"time"}}}"#,
    );
    world.fake("stopped").vanish(Phase::Stopped);
    world.names(Kind::Tools).await;
    for id in ["manual", "off", "broken", "stopped"] {
        assert_eq!(world.fake(id).discovered(), 0, "{id}");
    }
}

// S1-23, S1-25
#[tokio::test(start_paused = true)]
async fn an_introduction_starts_eager_servers_and_waits_for_none() {
    let world = World::new(r#"{"mcpServers":{"e":{"builtin":"time","eager":true},"l":{"builtin":"time"}}}"#);
    world.fake("e").takes(60 * SECOND);
    tokio::time::sleep(SECOND).await;
    assert_eq!(world.fake("e").discovered(), 0, "no earlier than the client's first request");
    let start = Instant::now();
    let introduction = world.gateway.introduce(ClientFacts {
        capabilities: raw("{}"),
        info: raw("{}"),
        revision: Revision::LATEST,
    });
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(
        (introduction.name.as_str(), introduction.version.as_str()),
        ("manifold", env!("CARGO_PKG_VERSION"))
    );
    tokio::time::sleep(SECOND).await;
    assert_eq!((world.fake("e").discovered(), world.fake("l").discovered()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn changes_are_announced_once_per_burst_and_only_to_who_looked() {
    let world = World::new(&servers(&["a", "b"], ""));
    world.fake("a").publish(&tools(&["x"]));
    world.fake("b").publish(&tools(&["x"]));
    let (looked, never) = (Arc::new(Listener::default()), Arc::new(Listener::default()));
    let client = world.gateway.attach(Arc::clone(&looked) as _);
    world.gateway.attach(Arc::clone(&never) as _);
    world.call_as(client, "tools/list", "{}").await;

    for round in 0..5 {
        world.fake("a").publish(&tools(&["x", &format!("y{round}")]));
        world.fake("b").publish(r#"{"tools":[],"prompts":[{"name":"p"}]}"#);
    }
    tokio::time::sleep(3 * SETTLE).await;
    assert_eq!(looked.take(), ["notifications/tools/list_changed"], "prompts were never looked at");
    assert_eq!(never.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_reads_the_same_is_no_change() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(&tools(&["x"]));
    let listener = Arc::new(Listener::default());
    let client = world.gateway.attach(Arc::clone(&listener) as _);
    world.call_as(client, "tools/list", "{}").await;
    world.fake("a").publish(&tools(&["x"]));
    tokio::time::sleep(3 * SETTLE).await;
    assert_eq!(listener.take(), [""; 0]);
}

// A server's own word is passed on, whatever its list says: once with the change it comes with, and to who looked.
#[tokio::test(start_paused = true)]
async fn what_a_server_says_of_its_lists_is_passed_on() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(r#"{"tools":[{"name":"x"}],"prompts":[{"name":"p"}],"resources":[]}"#);
    let (looked, never) = (Arc::new(Listener::default()), Arc::new(Listener::default()));
    let client = world.gateway.attach(Arc::clone(&looked) as _);
    world.gateway.attach(Arc::clone(&never) as _);
    world.call_as(client, "tools/list", "{}").await;
    world.call_as(client, "resources/list", "{}").await;
    world.call_as(client, "resources/templates/list", "{}").await;
    let fake = world.fake("a");
    let (key, host) = fake.host();
    for (method, heard) in [
        (notification::TOOLS_CHANGED, &[notification::TOOLS_CHANGED][..]),
        (notification::RESOURCES_CHANGED, &[notification::RESOURCES_CHANGED]),
        (notification::PROMPTS_CHANGED, &[]),
    ] {
        host.notice(key, method, None);
        tokio::time::sleep(3 * SETTLE).await;
        assert_eq!(looked.take(), heard, "{method}");
    }
    world.fake("a").publish(&tools(&["x", "y"]));
    host.notice(key, notification::TOOLS_CHANGED, None);
    host.notice(key, notification::TOOLS_CHANGED, None);
    tokio::time::sleep(3 * SETTLE).await;
    let mut heard = looked.take();
    heard.sort();
    assert_eq!(heard, [notification::TOOLS_CHANGED]);
    assert_eq!(never.take(), [""; 0]);
}

// S1-45
#[tokio::test(start_paused = true)]
async fn a_call_does_not_wait_for_the_discovery_of_others() {
    let world = World::new(&servers(&["slow", "fast"], ""));
    world.fake("slow").takes(60 * SECOND);
    world.fake("fast").takes(SECOND);
    let listing = world.ask(None, "tools/list", "{}");
    let start = Instant::now();
    world.call("tools/call", r#"{"name":"fast__any"}"#).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    listing.reply.await.unwrap().unwrap();
}
