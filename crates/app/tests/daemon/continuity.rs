//! A8: what a client has agreed on with a daemon holds with the next, and the client need do nothing for it.

use std::fs;
use std::time::Duration;

use manifold_testkit::{Client, Sandbox, bin};
use serde_json::{Value, json};

use crate::home::{Home, kill_hard};
use crate::{SOON, text_of};

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// A home with one server, whose knobs are in a file: they can be changed from one start to the next.
fn home() -> Home {
    let sandbox = Sandbox::new();
    let knobs = write_knobs(&sandbox, &["echo", "update", "log", "addtool"]);
    let server = json!({"command": bin("fake-server"), "args": [format!("@{knobs}")]});
    Home::within(sandbox, json!({"mcpServers": {"fx": server}, "daemon": {"linger": 1000}}))
}

fn write_knobs(sandbox: &Sandbox, tools: &[&str]) -> String {
    let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name})).collect();
    let resources = json!([{"uri": "note://1", "name": "one"}]);
    let knobs = json!({"tools": tools, "resources": resources});
    sandbox.write("knobs.json", &knobs.to_string()).to_string_lossy().into_owned()
}

fn echo(client: &mut Client) {
    assert_eq!(text_of(&client.call("fx__echo", json!({"text": "here"}))), "here");
}

/// Returns the methods of all notifications that have come, once nothing is under way.
fn told(client: &mut Client) -> Vec<String> {
    assert_eq!(client.ask("ping", Value::Null)["result"], json!({}));
    let told = client.notifications();
    told.iter().map(|one| one["method"].as_str().expect("a method").to_owned()).collect()
}

#[test]
fn subscriptions_and_the_log_level_outlive_the_daemon() {
    let home = home();
    let mut client = home.open();
    assert_eq!(client.ask("resources/subscribe", json!({"uri": "note://1"}))["result"], json!({}));
    client.set_log_level("error");
    for _ in 0..2 {
        kill_hard(home.daemon());
        client.call("fx__update", json!({"uri": "note://1"}));
        let updated = client.wait_for_notification("notifications/resources/updated", SOON);
        assert_eq!(updated["params"]["uri"], json!("note://1"));
        client.call("fx__log", json!({"level": "warning", "data": "no"}));
        client.call("fx__log", json!({"level": "error", "data": "yes"}));
        let logged = client.wait_for_notification("notifications/message", SOON);
        assert_eq!(logged["params"]["data"], json!("yes"));
        assert_eq!(told(&mut client), Vec::<String>::new());
    }
}

#[test]
fn lists_that_are_the_same_are_no_news() {
    let home = home();
    let mut client = home.open();
    let before = client.tool_names();
    client.ask("resources/list", json!({}));
    client.ask("prompts/list", json!({}));
    echo(&mut client);
    client.notifications();
    kill_hard(home.daemon());
    echo(&mut client);
    assert_eq!(told(&mut client), Vec::<String>::new());
    assert_eq!(client.tool_names(), before);
}

#[test]
fn a_list_that_is_another_is_told_once() {
    let home = home();
    let mut client = home.open();
    let before = client.tool_names();
    echo(&mut client);
    client.notifications();
    write_knobs(&home.sandbox, &["echo", "update", "newcomer"]);
    kill_hard(home.daemon());
    // The server is started by the first call, and what it lists is known then at the latest.
    echo(&mut client);
    client.wait_for_notification(TOOLS_CHANGED, SOON);
    let after = client.tool_names();
    assert!(after != before && after.contains(&"fx__newcomer".to_owned()), "{after:?}");
    echo(&mut client);
    assert_eq!(told(&mut client), Vec::<String>::new());
}

/// A client without sessions listens with a request that never ends by itself.
#[test]
fn a_listener_without_a_session_goes_on_listening() {
    let home = home();
    let mut client = home.window();
    client.speak_modern(json!({}));
    assert!(client.ask("server/discover", json!({}))["result"].is_object());
    let listening = client.listen(json!({"toolsListChanged": true, "resourceSubscriptions": ["note://1"]}));
    for _ in 0..2 {
        kill_hard(home.daemon());
        // The listening is taken up beside the call: the next one finds it at the latest.
        let updated = (0..600).find_map(|_| {
            client.call("fx__update", json!({"uri": "note://1"}));
            client.try_notification("notifications/resources/updated", Duration::from_millis(100))
        });
        let updated = updated.expect("word of the update");
        assert_eq!(updated["params"]["uri"], json!("note://1"));
        let tag = &updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(*tag, json!(listening), "{updated}");
        client.call("fx__addtool", json!({"name": "more"}));
        client.wait_for_notification(TOOLS_CHANGED, SOON);
    }
    fs::remove_file(home.sandbox.path("knobs.json")).expect("nobody starts anything more");
}
