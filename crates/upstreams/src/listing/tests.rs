use std::sync::Mutex;

use super::*;
use crate::connection::Dialect;
use crate::fake::{Does, FakeHost, connection, lock, raw, receive, run};

fn said(capabilities: &str) -> ServerFacts {
    ServerFacts {
        revision: "2025-11-25".to_owned(),
        capabilities: raw(capabilities),
        instructions: Some("Be kind.".to_owned()),
    }
}

/// Reads all lists of a server; returns each as its labels, and what the server was asked.
async fn read_from(
    capabilities: &str,
    mut deal: impl FnMut(&str, &str) -> Does + Send + 'static,
) -> (Result<Listing, Failure>, Vec<String>) {
    let connection = connection("", &Arc::new(FakeHost::default()));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&asked);
    let _server = run(Arc::clone(&connection), move |method, params| {
        let cursor = params.and_then(|params| params.get("cursor"));
        let cursor = cursor.map(|cursor| cursor.as_str().to_owned()).unwrap_or_default();
        lock(&record).push(format!("{method} {cursor}"));
        deal(method, &cursor)
    });
    let published = Mutex::new(None);
    read_all(&connection, &said(capabilities), &|read| *lock(&published) = Some(read)).await;
    let listing = lock(&published).take().expect("a list, or why there is none");
    let asked = lock(&asked).clone();
    (listing.map(|listing| (*listing).clone()), asked)
}

fn labels(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| item.label.as_str()).collect()
}

fn answer(result: &str) -> Does {
    Does::Answer(result.to_owned())
}

#[tokio::test(start_paused = true)]
async fn only_what_is_declared_is_read() {
    let (listing, asked) = read_from(r#"{"prompts":{},"resources":{}}"#, |method, _| match method {
        "prompts/list" => answer(r#"{"prompts":[{"name":"p", "x" : 1.0}]}"#),
        "resources/list" => answer(r#"{"resources":[{"uri":"x://1"}]}"#),
        _ => answer(r#"{"resourceTemplates":[{"uriTemplate":"x://{id}"}]}"#),
    })
    .await;
    let listing = listing.unwrap();
    assert_eq!(asked, ["resources/list ", "resources/templates/list ", "prompts/list "]);
    assert_eq!(listing.prompts[0].raw.as_str(), r#"{"name":"p", "x" : 1.0}"#);
    assert_eq!((labels(&listing.resources), labels(&listing.templates)), (vec!["x://1"], vec!["x://{id}"]));
    assert_eq!(listing.instructions.as_deref(), Some("Be kind."));
    assert!(listing.declares("prompts") && !listing.declares("tools"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_declares_nothing_is_asked_for_tools() {
    let (listing, asked) = read_from("{}", |_, _| answer(r#"{"tools":[{"name":"t"}]}"#)).await;
    assert_eq!(labels(&listing.unwrap().tools), ["t"]);
    assert_eq!(asked, ["tools/list "]);
}

// An empty cursor is a cursor.
#[tokio::test(start_paused = true)]
async fn pages_are_read_to_the_end() {
    let (listing, asked) = read_from(r#"{"tools":{}}"#, |_, cursor| match cursor {
        "" => answer(r#"{"tools":[{"name":"a"}],"nextCursor":""}"#),
        r#""""# => answer(r#"{"tools":[{"name":"b"}],"nextCursor":"\u00e9"}"#),
        r#""\u00e9""# => answer(r#"{"tools":[{"name":"c"}],"nextCursor":null}"#),
        other => panic!("no such cursor {other}"),
    })
    .await;
    assert_eq!(labels(&listing.unwrap().tools), ["a", "b", "c"]);
    assert_eq!(asked.len(), 3);
}

// F13
#[tokio::test(start_paused = true)]
async fn a_list_that_leads_in_circles_is_cut() {
    let (listing, asked) =
        read_from(r#"{"tools":{}}"#, |_, _| answer(r#"{"tools":[{"name":"a"}],"nextCursor":"again"}"#)).await;
    assert_eq!((listing.unwrap().tools.len(), asked.len()), (2, 2));

    let mut page = 0;
    let (listing, asked) = read_from(r#"{"tools":{}}"#, move |_, _| {
        page += 1;
        Does::Answer(format!(r#"{{"tools":[{{"name":"t{page}"}}],"nextCursor":"{page}"}}"#))
    })
    .await;
    assert_eq!((listing.unwrap().tools.len(), asked.len()), (MAX_PAGES, MAX_PAGES));
}

#[tokio::test(start_paused = true)]
async fn a_broken_entry_is_left_out_and_the_others_stay() {
    let list = r#"{"tools":[{"name":"a"},{"title":"none"},7,{"name":8},null,{"name":"b"}]}"#;
    let (listing, _) = read_from("{}", move |_, _| answer(list)).await;
    assert_eq!(labels(&listing.unwrap().tools), ["a", "b"]);
    for odd in ["{}", r#"{"tools":{}}"#, "[]", "null"] {
        let (listing, _) = read_from("{}", move |_, _| answer(odd)).await;
        assert_eq!(listing.unwrap().tools, [], "{odd}");
    }
}

// H2: a client could know it by another name than we do. A schema may say what it likes.
#[tokio::test(start_paused = true)]
async fn an_entry_with_two_names_is_left_out() {
    let list = r#"{"tools":[{"name":"a","inputSchema":{"type":"object","TYPE":1,"type":2}},{"name":"b","NAME":"c"},
        {"name":"d","n\u0061me":"e"},{"name":"f","description":"x","Description":"y"},{"name":"g","Title":"x","title":"y"}]}"#;
    let (listing, _) = read_from("{}", move |_, _| answer(list)).await;
    assert_eq!(labels(&listing.unwrap().tools), ["a", "g"]);
    let (listing, _) = read_from(r#"{"resources":{}}"#, |method, _| match method {
        "resources/list" => answer(r#"{"resources":[{"uri":"x://1","URI":"x://2"},{"uri":"x://3"}]}"#),
        _ => answer(r#"{"resourceTemplates":[{"uriTemplate":"x://{a}","uritemplate":"y://{a}"}]}"#),
    })
    .await;
    let listing = listing.unwrap();
    assert_eq!((labels(&listing.resources), labels(&listing.templates)), (vec!["x://3"], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_declared_list_that_does_not_exist_is_empty() {
    let refuse = |code: i32| Does::Refuse(format!(r#"{{"code":{code},"message":"m"}}"#));
    let (listing, _) = read_from(r#"{"tools":{},"prompts":{}}"#, move |method, _| match method {
        "prompts/list" => refuse(-32601),
        _ => answer(r#"{"tools":[{"name":"a"}]}"#),
    })
    .await;
    assert_eq!(labels(&listing.unwrap().tools), ["a"]);
    let (listing, _) = read_from("{}", move |_, _| refuse(-32603)).await;
    assert!(matches!(listing, Err(Failure::Peer(_))));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_never_comes_is_given_up() {
    let start = Instant::now();
    let (listing, _) = read_from("{}", |_, _| Does::Nothing).await;
    assert!(listing.is_err());
    assert_eq!(start.elapsed(), PATIENCE);
}

#[tokio::test(start_paused = true)]
async fn changes_that_come_together_are_read_together() {
    let host = Arc::new(FakeHost::default());
    let connection = connection("", &host);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&asked);
    let mut version = 0;
    let mut tasks = run(Arc::clone(&connection), move |method, _| {
        lock(&record).push(method.to_owned());
        version += 1;
        match method {
            "prompts/list" => answer(r#"{"prompts":[]}"#),
            _ => Does::Answer(format!(r#"{{"tools":[{{"name":"v{version}"}}]}}"#)),
        }
    });
    let published = Arc::new(Mutex::new(Vec::new()));
    let publish = {
        let published = Arc::clone(&published);
        move |read: Result<Arc<Listing>, Failure>| {
            lock(&published).push(read.unwrap().tools[0].label.clone());
        }
    };
    tasks.spawn(follow(Arc::clone(&connection), said(r#"{"tools":{},"prompts":{}}"#), None, publish));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(*lock(&published), ["v1"]);
    lock(&asked).clear();
    for _ in 0..20 {
        receive(&connection, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(*lock(&asked), ["tools/list"], "one reading, and of what changed alone");
    assert_eq!(*lock(&published), ["v1", "v3"]);
    assert_eq!(host.notices(), ["notifications/tools/list_changed"], "and passed on once");

    // F9: one that keeps changing is not read without a breath.
    lock(&asked).clear();
    for _ in 0..100 {
        receive(&connection, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let readings = lock(&asked).len();
    assert!((2..=5).contains(&readings), "{readings} in a second");
    let told = host.notices().len();
    assert!((2..=5).contains(&told), "passed on {told} times in a second");
}

// What the server says is passed on where its list turns out the same, or cannot be read; our own doubts are not.
#[tokio::test(start_paused = true)]
async fn the_servers_own_word_is_passed_on() {
    for modern in [false, true] {
        let host = Arc::new(FakeHost::default());
        let connection = connection("", &host);
        if modern {
            connection.speak(Dialect::modern(&said(r#"{"tools":{"listChanged":true}}"#), None));
        }
        let mut readings = 0;
        let mut tasks = run(Arc::clone(&connection), move |method, _| match method {
            "tools/list" => {
                readings += 1;
                match readings {
                    3 => Does::Refuse(r#"{"code":-32603,"message":"m"}"#.to_owned()),
                    _ => answer(r#"{"resultType":"complete","tools":[{"name":"a"}]}"#),
                }
            }
            _ => Does::Nothing,
        });
        tasks.spawn(follow(Arc::clone(&connection), said(r#"{"tools":{"listChanged":true}}"#), None, |_| {}));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(host.notices(), [""; 0]);
        for round in 1..=2 {
            receive(&connection, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(
                host.notices(),
                ["notifications/tools/list_changed"],
                "modern {modern}, round {round}"
            );
        }
        connection.lists.stale.mark_all();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(host.notices(), [""; 0], "nobody said so");
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_list_that_cannot_be_read_leaves_the_old_one() {
    let connection = connection("", &Arc::new(FakeHost::default()));
    let mut first = true;
    let mut tasks = run(Arc::clone(&connection), move |_, _| {
        if std::mem::take(&mut first) {
            return answer(r#"{"tools":[{"name":"a"}]}"#);
        }
        Does::Refuse(r#"{"code":-32603,"message":"m"}"#.to_owned())
    });
    let last = Arc::new(Mutex::new(Vec::new()));
    let publish = {
        let last = Arc::clone(&last);
        move |read: Result<Arc<Listing>, Failure>| *lock(&last) = read.unwrap().tools.clone()
    };
    tasks.spawn(follow(Arc::clone(&connection), said("{}"), None, publish));
    tokio::time::sleep(Duration::from_secs(1)).await;
    receive(&connection, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(labels(&lock(&last)), ["a"]);
}
