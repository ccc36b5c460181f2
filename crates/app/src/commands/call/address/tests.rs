use super::*;

fn item(server: &str, original: &str, name: &str) -> ListedItem {
    ListedItem {
        name: name.to_owned(),
        server: server.to_owned(),
        original: original.to_owned(),
        description: None,
        bytes: 0,
        item: None,
    }
}

fn found(address: &str) -> Result<String, Vec<String>> {
    let items = [
        item("time", "now", "time__now"),
        item("git", "status", "git__status"),
        item("work/jira", "status", "jira__status"),
        item("fs", "file.read", "fs__file_read"),
        item("a.b", "c", "a_b__c"),
        item("left/db", "query", "left_db__query"),
        item("right/db", "query", "right_db__query"),
    ];
    let names = |found: Vec<&str>| found.into_iter().map(str::to_owned).collect();
    match Address::parse(address).unwrap().find(&items) {
        Found::One(item) => Ok(item.name.clone()),
        Found::Several(several) => Err(names(several)),
        Found::None => Err(Vec::new()),
    }
}

#[test]
fn a_tool_is_found_by_each_of_its_names() {
    for name in ["time__now", "time.now", "time/now", "now", " time.now ", "time.now(zone: \"UTC\")"] {
        assert_eq!(found(name), Ok("time__now".to_owned()), "{name}");
    }
    assert_eq!(found("fs.file.read"), Ok("fs__file_read".to_owned()));
    assert_eq!(found("file.read"), Ok("fs__file_read".to_owned()));
    assert_eq!(found("a.b.c"), Ok("a_b__c".to_owned()));
    assert_eq!(found("work/jira.status"), Ok("jira__status".to_owned()));
    assert_eq!(found("jira/status"), Ok("jira__status".to_owned()));
}

#[test]
fn what_could_be_several_is_none_of_them() {
    assert_eq!(found("status"), Err(vec!["git__status".to_owned(), "jira__status".to_owned()]));
    assert_eq!(found("db.query"), Err(vec!["left_db__query".to_owned(), "right_db__query".to_owned()]));
    assert_eq!(found("right/db/query"), Ok("right_db__query".to_owned()));
    for unknown in ["time", "tim.now", "xtime__now", "now2", "", "."] {
        assert_eq!(found(unknown), Err(Vec::new()), "{unknown}");
    }
}

#[test]
fn a_search_finds_all_it_can_mean() {
    for (address, word) in [
        ("time__now", "now"),
        ("fs.file.read", "read"),
        ("now", "now"),
        ("a/", "a/"),
        ("git/log(n: 1)", "log"),
    ] {
        assert_eq!(Address::parse(address).unwrap().word(), word);
    }
}
