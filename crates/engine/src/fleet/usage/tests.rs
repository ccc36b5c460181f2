//! Which process a window gets: the one of whoever would start the same.

use std::sync::Arc;
use std::time::Duration;

use manifold_protocol::{Fault, Kind, Revision};

use super::*;
use crate::control::{Control, Program};
use crate::fake::{Fake, Listener, World, config, raw, resolution, tools};
use crate::upstream::{ClientFacts, Phase};

const TOKEN: &str = r#"{"mcpServers":{"a":{"command":"/bin/true","env":{"TOKEN":"${TOKEN}"}}}}"#;
const LINGER: Duration = Duration::from_secs(60);

fn of(shared: &str) -> String {
    format!(r#"{{"mcpServers":{{"a":{{"command":"/bin/true","shared":{shared}}}}}}}"#)
}

/// A daemon: its own servers are nobody's.
fn daemon(text: &str) -> World {
    World::open(&text.replace("${TOKEN}", ""), None, Audience::Shared)
}

fn is_same(one: &World, other: &World) -> bool {
    Arc::ptr_eq(&one.used("a"), &other.used("a"))
}

fn introduce(world: &World, capabilities: &str) {
    let (capabilities, info) = (raw(capabilities), raw(r#"{"name":"c"}"#));
    world.gateway.introduce(ClientFacts { capabilities, info, revision: Revision::LATEST });
}

/// Closes a window as its front end does.
fn close(window: &World) {
    window.gateway.close();
}

async fn after(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Lets what was begun beside us go on.
async fn settle() {
    after(Duration::from_millis(1)).await;
}

// Decision 29
#[tokio::test(start_paused = true)]
async fn windows_share_a_process_where_it_would_be_started_alike() {
    let daemon = daemon(TOKEN);
    let window = |token: &str, path: &str, cwd: &str| {
        daemon.window(TOKEN, &[("TOKEN", token), ("PATH", path), ("OTHER", "x")], cwd)
    };
    let first = window("one", "/bin", "/work");
    assert!(is_same(&first, &window("one", "/bin", "/work")), "the third is equal to the first");
    assert!(!is_same(&first, &window("two", "/bin", "/work")));
    assert!(!is_same(&first, &window("one", "/usr/bin", "/work")));
    assert!(!is_same(&first, &window("one", "/bin", "/else")));
    assert!(!is_same(&first, &daemon), "what the config defines is none of a client's");
    let fake = first.used("a");
    fake.publish(&tools(&["x"]));
    let call = window("one", "/bin", "/work").call("tools/call", r#"{"name":"a__x"}"#).await;
    assert!(call.contains(r#""by":"a""#), "{call}");
    assert_eq!(fake.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_folder_counts_unless_it_is_said_not_to() {
    for (shared, is_shared) in [("true", true), (r#""project""#, false), ("null", false)] {
        let text = of(shared);
        let daemon = daemon(&text);
        let (one, other) = (daemon.window(&text, &[], "/one"), daemon.window(&text, &[], "/other"));
        assert_eq!(is_same(&one, &other), is_shared, "{shared}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_window_has_its_own_process_and_takes_it_along() {
    let text = of("false");
    let daemon = daemon(&text);
    let (first, second) = (daemon.window(&text, &[], "/w"), daemon.window(&text, &[], "/w"));
    let (of_first, of_second) = (first.used("a"), second.used("a"));
    assert!(!Arc::ptr_eq(&of_first, &of_second));
    assert_eq!(of_first.host().1.audience(), Audience::One);
    of_first.publish(&tools(&["x"]));
    of_second.publish(&tools(&["x"]));
    close(&first);
    settle().await;
    assert_eq!((of_first.is_closed(), of_second.is_closed()), (true, false));
    drop(second);
    settle().await;
    assert!(of_second.is_closed(), "one that is dropped is closed, too");
}

// Who comes by HTTP has the daemon's own variables.
#[tokio::test(start_paused = true)]
async fn a_door_for_many_shares_with_windows_what_they_may_share() {
    for (shared, is_shared) in [("true", true), ("null", false)] {
        let text = of(shared);
        let daemon = daemon(&text);
        let window = daemon.window(&text, &[("PATH", "/bin")], "/w");
        let door = daemon.door(&text, &[("PATH", "/bin")], "/");
        assert_eq!(is_same(&window, &door), is_shared, "{shared}");
    }
}

// H3: the first gateway's process must not become the second one's
#[tokio::test(start_paused = true)]
async fn without_a_daemon_too_each_gateway_of_one_client_has_its_own_process() {
    let text = r#"{"servers":{"a":{"command":"/bin/true","shared":false}},"namespaces":[{"id":"n","serverIds":["a"]}]}"#;
    let first = World::open(text, Some("n"), Audience::One);
    let fake = first.used("a");
    fake.publish(&tools(&["x"]));
    let second = first.also_for("n", Audience::One);
    assert!(!is_same(&first, &second));
    second.used("a").publish(&tools(&["x"]));
    second.call("tools/list", "{}").await;
    assert_eq!((fake.orders(), fake.is_closed(), fake.widened()), (vec![], false, 0));
    let changed = text.replace(r#""shared":false"#, r#""shared":false,"timeout":5000"#);
    first.fleet.apply(Arc::new(config(&changed))).await;
    assert!(fake.is_closed() && !first.used("a").is_closed());
    assert!(!is_same(&first, &second));
}

#[tokio::test(start_paused = true)]
async fn a_projects_process_ends_with_its_last_window() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join(".git")).unwrap();
    std::fs::create_dir_all(folder.path().join("src")).unwrap();
    let (root, below) = (folder.path().to_str().unwrap().to_owned(), folder.path().join("src"));
    let text = of(r#""project""#);
    let daemon = daemon(&text);
    let first = daemon.window(&text, &[], &root);
    let second = daemon.window(&text, &[], below.to_str().unwrap());
    assert!(is_same(&first, &second));
    let fake = first.used("a");
    fake.publish(&tools(&["x"]));
    close(&first);
    settle().await;
    assert!(!fake.is_closed());
    close(&second);
    settle().await;
    assert!(fake.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_process_is_kept_for_whoever_comes_back_in_time() {
    let daemon = daemon(TOKEN);
    let window = || daemon.window(TOKEN, &[("TOKEN", "one")], "/w");
    let first = window();
    let fake = first.used("a");
    fake.publish(&tools(&["x"]));
    close(&first);
    after(LINGER - Duration::from_secs(1)).await;
    let second = window();
    assert!(is_same(&first, &second));
    after(LINGER * 2).await;
    assert!(!fake.is_closed(), "it is in use");
    close(&second);
    after(LINGER - Duration::from_secs(1)).await;
    assert!(!fake.is_closed());
    after(Duration::from_secs(2)).await;
    assert!(fake.is_closed());
    assert!(!Arc::ptr_eq(&window().used("a"), &fake), "whoever comes later gets another");
}

#[tokio::test(start_paused = true)]
async fn a_start_begun_by_a_client_that_has_left_is_finished() {
    let text = of(r#""project""#);
    let daemon = daemon(&text);
    let window = daemon.window(&text, &[], "/w");
    introduce(&window, "{}");
    let fake = window.used("a");
    fake.offers(&tools(&["x"]));
    fake.takes(Duration::from_secs(3));
    let list = window.ask(None, "tools/list", "{}");
    after(Duration::from_millis(500)).await;
    close(&window);
    assert!(list.reply.await.unwrap().is_ok(), "nobody waits for it any more");
    after(Duration::from_secs(1)).await;
    assert!(!fake.is_closed());
    after(Duration::from_secs(3)).await;
    assert!(crate::upstream::Upstream::listing(&*fake).is_some() && fake.is_closed());
}

#[tokio::test(start_paused = true)]
async fn whoever_walks_through_many_folders_leaves_few_processes() {
    let text = of("null");
    let daemon = daemon(&text);
    let mut left = Vec::new();
    for at in 0..10 {
        let window = daemon.window(&text, &[], &format!("/w/{at}"));
        let fake = window.used("a");
        fake.publish(&tools(&["x"]));
        close(&window);
        left.push(fake);
    }
    settle().await;
    let closed: Vec<bool> = left.iter().map(|fake| fake.is_closed()).collect();
    assert_eq!(closed, [true, true, true, true, true, true, false, false, false, false]);
}

#[tokio::test(start_paused = true)]
async fn a_reload_is_for_every_window_as_it_resolves_it() {
    let text = |a: &str, b: &str| {
        format!(
            r#"{{"mcpServers":{{"a":{{"command":"/bin/true","args":["${{TOKEN}}"{a}]{b}}},"same":{{"command":"/bin/true"}}}}}}"#
        )
    };
    let values = |token: &'static str| [("TOKEN", token)];
    let before = text("", "");
    let daemon = daemon(&before);
    let windows = ["one", "two", "one"].map(|token| (token, daemon.window(&before, &values(token), "/w")));
    let fakes = |windows: &[(&str, World); 3]| -> Vec<Arc<Fake>> {
        windows.iter().map(|(_, window)| window.used("a")).collect()
    };
    let same = windows[0].1.used("same");
    for (_, window) in &windows {
        window.used("a").publish(&tools(&["x"]));
        window.used("same").publish(&tools(&["y"]));
    }
    let apply = async |new: &str| {
        for (token, window) in &windows {
            window.gateway.prepare(resolution(new, &values(token), "/w"));
        }
        daemon.fleet.apply(Arc::new(config(&new.replace("${TOKEN}", "")))).await;
    };
    // Other arguments make other instances, a time limit alone a successor in their place.
    for new in [text(r#","more""#, ""), text(r#","more""#, r#","timeout":5000"#)] {
        let old = fakes(&windows);
        apply(&new).await;
        assert!(old.iter().all(|fake| fake.is_closed()), "{new}");
        let now = fakes(&windows);
        assert!(now.iter().all(|fake| !fake.is_closed()), "{new}");
        assert!(Arc::ptr_eq(&now[0], &now[2]) && !Arc::ptr_eq(&now[0], &now[1]), "{new}");
        assert!(Arc::ptr_eq(&same, &windows[2].1.used("same")) && !same.is_closed());
    }
    apply(r#"{"mcpServers":{"same":{"command":"/bin/true"}}}"#).await;
    assert_eq!(windows[1].1.names(Kind::Tools).await, ["same__y", "manifold__servers_list"]);
    let closed = windows[0].1.gateway.catalog().view.members.len();
    assert_eq!(closed, 2, "`same` and the manager");
}

#[tokio::test(start_paused = true)]
async fn a_window_that_has_closed_uses_nothing_after_a_reload() {
    let text = of("null");
    let daemon = daemon(&text);
    let window = daemon.window(&text, &[], "/w");
    let fake = window.used("a");
    close(&window);
    daemon.fleet.apply(Arc::new(config(&text.replace("/bin/true", "/bin/false")))).await;
    assert!(fake.is_closed(), "nobody will come back to what the config has no more");
    assert_eq!(fake.host().1.audience(), Audience::Shared);
}

// H3: whose question is it?
#[tokio::test(start_paused = true)]
async fn an_instance_hears_that_another_shares_it() {
    let daemon = daemon(TOKEN);
    let window = || daemon.window(TOKEN, &[("TOKEN", "one")], "/w");
    let first = window();
    let fake = first.used("a");
    assert_eq!((fake.widened(), fake.host().1.audience()), (0, Audience::One));
    let second = window();
    assert_eq!((fake.widened(), fake.host().1.audience()), (1, Audience::Shared));
    close(&first);
    close(&second);
    let third = window();
    assert_eq!(fake.widened(), 2, "what it still does may be for those who left");
    drop(third);
}

#[tokio::test(start_paused = true)]
async fn roots_are_those_of_all_who_share_a_server() {
    struct Rooted(&'static str);
    impl crate::changes::Client for Rooted {
        fn notify(&self, _method: &str, _params: Option<manifold_protocol::Raw>) {}
        fn ask(&self, _call: manifold_protocol::Call, exchange: crate::exchange::Exchange) {
            exchange
                .finish(Ok(raw(&format!(r#"{{"roots":[{{"uri":"file:///all"}},{{"uri":"{}"}}]}}"#, self.0))));
        }
    }
    let text = of("true");
    let daemon = daemon(&text);
    let capabilities = r#"{"roots":{"listChanged":true}}"#;
    let first = daemon.window(&text, &[], "/one");
    introduce(&first, capabilities);
    first.gateway.attach(Arc::new(Rooted("file:///one")));
    let fake = first.used("a");
    let roots = r#"{"roots":[{"uri":"file:///all"},{"uri":"file:///one"}]}"#;
    assert_eq!(fake.question("roots/list").await, roots);
    assert_eq!(fake.notified(), [""; 0]);
    let second = daemon.window(&text, &[], "/two");
    introduce(&second, capabilities);
    second.gateway.attach(Arc::new(Rooted("file:///two")));
    assert_eq!(fake.notified(), ["notifications/roots/list_changed"]);
    let both = r#"{"roots":[{"uri":"file:///all"},{"uri":"file:///one"},{"uri":"file:///two"}]}"#;
    assert_eq!(fake.question("roots/list").await, both);
    assert!(fake.question("elicitation/create").await.starts_with("fault"), "it may be anybody's");
    close(&second);
    settle().await;
    assert_eq!(fake.notified(), ["notifications/roots/list_changed"]);
    assert_eq!(fake.question("roots/list").await, roots);
}

#[tokio::test(start_paused = true)]
async fn whoever_leaves_ends_no_others_wait() {
    let text = of("true");
    let daemon = daemon(&text);
    let (first, second) = (daemon.window(&text, &[], "/w"), daemon.window(&text, &[], "/w"));
    introduce(&first, "{}");
    introduce(&second, "{}");
    first.used("a").offers(&tools(&["x"]));
    first.used("a").takes(Duration::from_secs(2));
    let (_one, other) = (first.ask(None, "tools/list", "{}"), second.ask(None, "tools/list", "{}"));
    settle().await;
    first.gateway.leave();
    let list = crate::fake::show(&other.reply.await.unwrap());
    assert!(list.contains("a__x"), "{list}");
}

#[tokio::test(start_paused = true)]
async fn an_operator_sees_who_uses_which_instance_and_in_what_they_differ() {
    let daemon = daemon(TOKEN);
    // Nobody comes by HTTP.
    close(&daemon);
    let reloader = Arc::new(crate::fake::NoFile);
    let control = Control::new(&daemon.fleet, reloader, Program::default());
    assert_eq!(control.snapshot().servers[0].instances.len(), 1, "that of the config");
    let window = |token: &str, cwd: &str| daemon.window(TOKEN, &[("TOKEN", token)], cwd);
    let windows = [window("one", "/w"), window("one", "/w"), window("two", "/w")];
    introduce(&windows[0], "{}");
    introduce(&windows[2], "{}");
    windows[0].used("a").publish(&tools(&["x"]));
    let server = control.snapshot().servers.remove(0);
    assert_eq!((server.pid, server.instances.len()), (Some(7), 2));
    let [one, two] = server.instances.try_into().unwrap();
    assert_eq!((one.clients, one.differs.as_slice()), (Some(1), &["TOKEN".to_owned()][..]));
    assert_eq!((two.clients, two.pid, two.differs), (Some(1), None, one.differs));
    assert!(one.key.as_ref().is_some_and(|key| key.len() == 16) && one.key != two.key);
    introduce(&windows[1], "{}");
    assert_eq!(control.snapshot().servers[0].instances[0].clients, Some(2));
    let stop = manifold_admin::Command::Stop { server: server.key };
    control.execute(stop).await.unwrap();
    assert_eq!((windows[0].used("a").orders().len(), windows[2].used("a").orders().len()), (1, 1));
    assert_eq!(windows[0].used("a").host().1.audience(), Audience::Shared);
    let listener = Arc::new(Listener::default());
    windows[0].gateway.attach(Arc::clone(&listener) as _);
    windows[0].used("a").vanish(Phase::Idle);
    assert_eq!(windows[2].names(Kind::Tools).await, ["manifold__servers_list"]);
}

// A gateway may be dropped by whoever describes it for an event, with the lock of the feed held.
#[tokio::test(start_paused = true)]
async fn a_gateway_may_be_dropped_while_an_event_is_made() {
    let text = of("false");
    let daemon = daemon(&text);
    let window = daemon.window(&text, &[], "/w");
    let fake = window.used("a");
    fake.publish(&tools(&["x"]));
    let control = Control::new(&daemon.fleet, Arc::new(crate::fake::NoFile), Program::default());
    let mut events = control.events().unwrap();
    daemon.fleet.feed().publish(|| {
        drop(window);
        None
    });
    settle().await;
    assert!(fake.is_closed());
    assert!(events.next().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_seen_though_whoever_met_it_has_left() {
    let text = of("true");
    let daemon = daemon(&text);
    let control = Control::new(&daemon.fleet, Arc::new(crate::fake::NoFile), Program::default());
    let state = || control.snapshot().servers[0].state;
    let window = |path: &str| daemon.window(&text, &[("PATH", path)], "/w");
    let first = window("/bin");
    let failed = first.used("a");
    failed.vanish(Phase::Failed(Fault::Internal("it broke".into())));
    close(&first);
    after(3 * LINGER).await;
    assert_eq!((state(), failed.is_closed()), (manifold_admin::State::Failed, false));
    let second = window("/usr/bin");
    second.used("a").publish(&tools(&["x"]));
    after(3 * LINGER).await;
    assert!(failed.is_closed(), "another serves by now");
}
