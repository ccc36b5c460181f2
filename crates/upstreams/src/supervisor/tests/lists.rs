//! The lists of a server: who waits for them, and how long they stay.

use super::*;

#[tokio::test(start_paused = true)]
async fn discovery_waits_for_the_lists_and_the_host_hears_of_them() {
    let stage = stage("", [SLOW]);
    stage.upstream.discover().await;
    let listing = stage.upstream.listing().unwrap();
    assert_eq!(listing.tools[0].label, "x");
    assert_eq!(stage.host.notices(), ["listing"]);
    stage.upstream.discover().await;
    assert_eq!(stage.host.notices(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn lists_that_could_not_be_read_are_read_again_when_asked_for() {
    let stage = stage("", [LISTLESS]);
    stage.upstream.discover().await;
    assert!(stage.upstream.listing().is_none());
    assert_eq!(stage.call().await, "1", "it can be called all the same");
    stage.upstream.discover().await;
    assert!(stage.upstream.listing().is_none());
    assert_eq!(stage.starts().len(), 1);
}

// S1-30
#[tokio::test(start_paused = true)]
async fn the_list_stays_while_a_crashed_server_is_brought_back() {
    let stage = stage(r#","restartDelay":5000"#, [RUNS, RUNS]);
    stage.upstream.discover().await;
    stage.call().await;
    stage.crash();
    settle().await;
    assert_eq!(stage.phase(), Phase::Starting);
    assert!(stage.upstream.listing().is_some());
    stage.host.notices();
    tokio::time::sleep(6 * SECOND).await;
    assert_eq!(stage.host.notices(), ["listing"], "and is read anew");
}

#[tokio::test(start_paused = true)]
async fn what_a_server_offered_is_known_to_the_next_run() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    let first = stage_with(cache.clone(), "", [RUNS]);
    assert!(first.upstream.listing().is_none());
    first.upstream.discover().await;
    assert!(!first.upstream.listing().unwrap().is_saved());

    let second = stage_with(cache.clone(), "", [RUNS]);
    let listing = second.upstream.listing().unwrap();
    assert!(listing.is_saved() && !listing.is_stale());
    assert_eq!(listing.tools[0].raw.as_str(), r#"{"name":"x"}"#);
    assert_eq!(listing.capabilities.as_ref().unwrap().as_str(), r#"{"tools":{}}"#);
    assert!(second.starts().is_empty(), "nothing was started for it");
    second.upstream.discover().await;
    assert!(!second.upstream.listing().unwrap().is_saved(), "once it runs, it is asked");

    let failing = stage_with(cache.clone(), "", []);
    assert!(failing.upstream.listing().is_some());
    assert_eq!(failing.call().await, FAILED);
    assert!(failing.upstream.listing().is_none(), "what cannot start offers nothing");

    let manual = stage_with(cache, r#","eager":false,"lazy":false"#, [RUNS]);
    assert!(manual.upstream.listing().is_none(), "what may not start offers nothing");
}
