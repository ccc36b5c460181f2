use super::*;
use crate::testing::{BASE, FakeWeb, RECORDED, recorded};

fn page_url(word: &str, cursor: &str) -> String {
    let cursor = if cursor.is_empty() { String::new() } else { format!("&cursor={cursor}") };
    format!("{BASE}/v0.1/servers?search={word}&version=latest&limit=100{cursor}")
}

fn page(servers: &[&str], next: &str) -> String {
    format!(r#"{{"servers":[{}],"metadata":{{"nextCursor":"{next}","count":1}}}}"#, servers.join(","))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn names(found: &Found) -> Vec<&str> {
    found.servers.iter().map(|listed| listed.server.name.as_str()).collect()
}

/// Returns what is said of a server whose answer is this.
fn refusal(body: &str) -> String {
    let web = FakeWeb::with(format!("{BASE}/v0.1/servers/com.example%2Fx/versions/latest"), body);
    web.registry(Cache::default()).server("com.example/x", None).unwrap_err().to_string()
}

#[test]
fn a_search_walks_the_pages_and_says_what_is_deprecated() {
    let mut web = FakeWeb::default();
    let (first, second) = (recorded("pypi-weather"), recorded("deprecated"));
    web.answers.insert(page_url("weather", ""), page(&[first, recorded("deleted")], "a/b c").into());
    web.answers.insert(page_url("weather", "a%2Fb%20c"), page(&[second, first], "").into());
    let found = web.registry(Cache::default()).search(&words(&["Weather"]), 20).unwrap().answer;
    assert_eq!(names(&found), ["io.github.example/weather-mcp", "io.github.example/old-weather"]);
    assert_eq!(found.servers[1].status, Status::Deprecated);
    assert_eq!(found.servers[1].status_message.as_deref(), Some("Use io.github.example/weather-mcp"));
    assert_eq!((found.refused, found.has_more), (0, false));
    assert_eq!(web.asked.borrow().len(), 2);
}

#[test]
fn all_words_must_be_there_and_the_longest_is_asked_for() {
    let all: Vec<&str> = RECORDED.iter().map(|(_, answer)| *answer).collect();
    let web = FakeWeb::with(page_url("forecasts", ""), page(&all, ""));
    let registry = web.registry(Cache::default());
    let found = registry.search(&words(&["mcp", "forecasts"]), 20).unwrap().answer;
    assert_eq!(names(&found), ["io.github.example/weather-mcp"]);
    assert!(matches!(registry.search(&words(&[" "]), 20), Err(RegistryError::NoWords)));
    assert!(matches!(registry.search(&[], 20), Err(RegistryError::NoWords)));
}

#[test]
fn one_bad_server_does_not_hide_the_others() {
    let bad = r#"{"server":{"name":"../../etc","version":"1.0.0","description":"x"}}"#;
    let servers = [bad, r#"{"server":7}"#, "null", recorded("remote-docs")];
    let web = FakeWeb::with(page_url("docs", ""), page(&servers, ""));
    let found = web.registry(Cache::default()).search(&words(&["docs"]), 20).unwrap().answer;
    assert_eq!((names(&found), found.refused), (vec!["com.example/docs"], 3));
}

#[test]
fn a_registry_that_leads_in_circles_or_without_end_is_left() {
    let web = FakeWeb::with(page_url("docs", ""), page(&[], "round"));
    let mut web = web;
    web.answers.insert(page_url("docs", "round"), page(&[], "round").into());
    web.registry(Cache::default()).search(&words(&["docs"]), 20).unwrap();
    assert_eq!(web.asked.borrow().len(), 2);

    let mut web = FakeWeb::with(page_url("docs", ""), page(&[], "c0"));
    for number in 0..100 {
        let next = format!("c{}", number + 1);
        web.answers.insert(page_url("docs", &format!("c{number}")), page(&[], &next).into());
    }
    let found = web.registry(Cache::default()).search(&words(&["docs"]), 20).unwrap().answer;
    assert!(found.has_more);
    assert_eq!(web.asked.borrow().len(), MAX_PAGES);
}

#[test]
fn answers_are_kept_for_an_hour_and_offline_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(folder.path().to_owned()));
    let url = format!("{BASE}/v0.1/servers/com.example%2Fdocs/versions/latest");
    let web = FakeWeb::with(url, recorded("remote-docs"));
    let ask = |freshness, later| {
        let now = SystemTime::now() + Duration::from_secs(later);
        Registry { freshness, now, ..web.registry(cache.clone()) }.server("com.example/docs", None)
    };
    let is_kept = |error: RegistryError| matches!(error, RegistryError::NotKept { .. });
    assert!(is_kept(ask(Freshness::Offline, 0).unwrap_err()));
    assert!(ask(Freshness::Hour, 0).unwrap().age.is_none());
    assert!(ask(Freshness::Hour, 600).unwrap().age.is_some());
    assert_eq!(web.asked.borrow().len(), 1);
    assert!(ask(Freshness::Hour, 4000).unwrap().age.is_none());
    assert_eq!(web.asked.borrow().len(), 2);
    let days = ask(Freshness::Offline, 10 * 24 * 3600).unwrap();
    assert!(days.age.unwrap() > Duration::from_secs(9 * 24 * 3600));
    assert_eq!(days.answer.server.name, "com.example/docs");
    assert_eq!(web.asked.borrow().len(), 2);
}

#[test]
fn a_version_is_asked_for_by_name_and_must_be_it() {
    let url = format!("{BASE}/v0.1/servers/com.example%2Fdocs/versions/2.0.0");
    let web = FakeWeb::with(url, recorded("remote-docs"));
    let registry = web.registry(Cache::default());
    assert_eq!(registry.server("com.example/docs", Some("2.0.0")).unwrap().answer.server.version, "2.0.0");
    let unknown = registry.server("com.example/docs", Some("9.9.9")).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "the registry https://registry.example has no server 'com.example/docs' of version 9.9.9"
    );
    for (name, version) in [("docs", None), ("com.example/docs", Some("^2")), ("a/../b", None)] {
        assert!(matches!(registry.server(name, version), Err(RegistryError::Asked(_))), "{name}");
    }
    assert_eq!(web.asked.borrow().len(), 2, "what is no name is not asked for");
}

#[test]
fn what_was_deleted_is_refused_with_its_reason() {
    let url = format!("{BASE}/v0.1/servers/io.github.example%2Fgone/versions/latest");
    let web = FakeWeb::with(url, recorded("deleted"));
    let error = web.registry(Cache::default()).server("io.github.example/gone", None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`io.github.example/gone` was taken out of the registry: It sent what it read elsewhere"
    );
}

#[test]
fn lies_are_refused() {
    assert!(refusal(recorded("remote-docs")).contains("it is another server"));
    assert!(refusal("<html>").contains("cannot be read"));
    assert!(refusal(r#"{"server":{"name":"com.example/x","version":7}}"#).contains("cannot be read"));
    assert!(refusal(r#"{"server":{"name":"com.example/x","version":"^1.0"}}"#).contains("no single version"));
    assert!(
        refusal(r#"{"server":{"name":"com.example/x\u001b[2J","version":"1.0"}}"#)
            .contains("no name of a server")
    );
    let many = vec![r#"{"type":"sse","url":"https://a.example"}"#; 40].join(",");
    let body = format!(r#"{{"server":{{"name":"com.example/x","version":"1","remotes":[{many}]}}}}"#);
    assert!(refusal(&body).contains("more than 32 members"));
    let deep = format!(r#"{{"server":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(refusal(&deep).contains("cannot be read"));
}

#[test]
fn an_answer_that_is_too_large_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("{BASE}/v0.1/servers/com.example%2Fx/versions/latest");
    let web = FakeWeb::with(url, vec![b' '; MAX_SERVER_BYTES as usize + 1]);
    let cache = Cache::new(Some(folder.path().join("registry")));
    let error = web.registry(cache).server("com.example/x", None).unwrap_err();
    assert!(error.to_string().contains("larger than 1048576 bytes"), "{error}");
    assert!(!folder.path().join("registry").exists());
}

#[test]
fn foreign_words_are_one_line_without_controls() {
    let body =
        r#"{"server":{"name":"com.example/x","version":"1","description":"one\u001b[31m\n\n two\u0007"}}"#;
    assert_eq!(listed(body.as_bytes()).unwrap().server.description, "one [31m two");
}
