mod names;

use expect_test::{Expect, expect};
use manifold_config::Profile;

use super::*;
use crate::fake::{World, servers, tools};
use crate::policy::Decisions;

/// Shows every exposed tool and where it leads.
fn shown_tools(catalog: &Catalog) -> String {
    let list = catalog.shown(Kind::Tools).get("tools").unwrap().elements().unwrap();
    let mut text = String::new();
    for tool in list {
        let name = tool.get("name").unwrap().to_text().unwrap().into_owned();
        let route = catalog.tool(&name).unwrap();
        let owner = &catalog.member(route.member).key.id;
        text += &format!("{name} = {owner} {}\n", route.original);
    }
    text
}

fn world(settings: &str, offers: &[(&str, &[&str])]) -> World {
    let ids: Vec<&str> = offers.iter().map(|(id, _)| *id).collect();
    let world = World::new(&servers(&ids, settings));
    for (id, names) in offers {
        world.fake(id).publish(&tools(names));
    }
    world
}

#[track_caller]
fn check_tools(settings: &str, offers: &[(&str, &[&str])], expected: Expect) {
    expected.assert_eq(&shown_tools(&world(settings, offers).gateway.catalog()));
}

const NO_MANAGER: &str = r#""managerTools":false"#;

// S1-17, S2-7, S3-5
#[tokio::test(start_paused = true)]
async fn tools_are_listed_in_config_order_under_their_servers() {
    let offers: &[(&str, &[&str])] = &[("fs", &["read", "write"]), ("web-search", &["webSearchPrime"])];
    check_tools(
        NO_MANAGER,
        offers,
        expect![[r#"
        fs__read = fs "read"
        fs__write = fs "write"
        web-search__webSearchPrime = web-search "webSearchPrime"
    "#]],
    );
    check_tools(
        r#""managerTools":false,"separator":".""#,
        offers,
        expect![[r#"
        fs.read = fs "read"
        fs.write = fs "write"
        web-search.webSearchPrime = web-search "webSearchPrime"
    "#]],
    );
    check_tools(
        r#""managerTools":false,"separator":"-""#,
        offers,
        expect![[r#"
        fs-read = fs "read"
        fs-write = fs "write"
        web-search-webSearchPrime = web-search "webSearchPrime"
    "#]],
    );
    check_tools(
        r#""managerTools":false,"separator":"""#,
        offers,
        expect![[r#"
        read = fs "read"
        write = fs "write"
        webSearchPrime = web-search "webSearchPrime"
    "#]],
    );
}

// Decision 7
#[tokio::test(start_paused = true)]
async fn names_no_client_would_accept_are_made_safe() {
    let long = "x".repeat(80);
    check_tools(
        NO_MANAGER,
        &[("a", &["sp ace", "dot.ted", "naïve", "", &long])],
        expect![[r#"
        a__sp_ace_f76a38b4 = a "sp ace"
        a__dot_ted_9e451b6a = a "dot.ted"
        a__na_ve_dacf6ebf = a "naïve"
        a__ = a ""
        a__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_27e752d3 = a "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "#]],
    );
    check_tools(
        r#""managerTools":false,"separator":".""#,
        &[("a", &["dot.ted", "sp ace"])],
        expect![[r#"
        a.dot.ted = a "dot.ted"
        a.sp_ace_f76a38b4 = a "sp ace"
    "#]],
    );
    check_tools(
        r#""managerTools":false,"maxNameLength":20"#,
        &[("server", &["a_rather_long_name", "short"])],
        expect![[r#"
        server__a_r_a108102f = server "a_rather_long_name"
        server__short = server "short"
    "#]],
    );
}

// Decision 9, S1-22
#[tokio::test(start_paused = true)]
async fn server_keys_are_made_safe_too() {
    check_tools(
        r#""managerTools":false,"separator":".""#,
        &[("my.server", &["x"]), ("日本", &["y"])],
        expect![[r#"
        my_server_9661c51a.x = my.server "x"
        ___cf2abf0c.y = 日本 "y"
    "#]],
    );
}

// Decision 8
#[tokio::test(start_paused = true)]
async fn of_two_claims_to_a_name_the_first_in_the_config_wins() {
    check_tools(
        r#""managerTools":false,"separator":"-""#,
        &[("a", &["b-c"]), ("a-b", &["c"])],
        expect![[r#"
        a-b-c = a "b-c"
        a-b-c_695274f6 = a-b "c"
    "#]],
    );
    check_tools(
        r#""managerTools":false,"separator":"-""#,
        &[("a-b", &["c"]), ("a", &["b-c"])],
        expect![[r#"
        a-b-c = a-b "c"
        a-b-c_02654a5c = a "b-c"
    "#]],
    );
    check_tools(
        r#""managerTools":false,"separator":"""#,
        &[("a", &["x"]), ("b", &["x"]), ("c", &["x"])],
        expect![[r#"
        x = a "x"
        x_e1707ddf = b "x"
        x_728d3baf = c "x"
    "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_listed_twice_counts_once() {
    check_tools(
        NO_MANAGER,
        &[("a", &["x", "x", "y"])],
        expect![[r#"
        a__x = a "x"
        a__y = a "y"
    "#]],
    );
}

// A tool may bear the very name that another's hash leads to.
#[tokio::test(start_paused = true)]
async fn a_tool_named_like_a_hash_is_not_lost() {
    let naming = Naming { separator: "__".to_owned(), max_length: 64, keeps_names: false };
    let hashed = naming.expose("a", "a", "x.y");
    let twin = hashed.strip_prefix("a__").unwrap();
    let world = world(NO_MANAGER, &[("a", &["x.y", twin])]);
    let shown = shown_tools(&world.gateway.catalog());
    assert_eq!(shown.lines().count(), 2, "{shown}");
}

// Decision 8, S1-54
#[tokio::test(start_paused = true)]
async fn manager_names_win_and_are_listed_last() {
    let offers: &[(&str, &[&str])] = &[("manifold", &["servers_list"]), ("a", &["x"])];
    check_tools(
        "",
        offers,
        expect![[r#"
        manifold_4dd5b6e2__servers_list = manifold "servers_list"
        a__x = a "x"
        manifold__servers_list = manifold "servers_list"
    "#]],
    );
    check_tools(
        r#""serverName":"a","separator":"-""#,
        &[("a", &["x"]), ("b", &["servers_list"])],
        expect![[r#"
        a_ca978112-x = a "x"
        b-servers_list = b "servers_list"
        a-servers_list = a "servers_list"
    "#]],
    );
    // With no separator at all, its names still begin with the gateway's.
    check_tools(
        r#""separator":"""#,
        &[("b", &["manifold__servers_list"])],
        expect![[r#"
        manifold__servers_list_2b651ed7 = b "manifold__servers_list"
        manifold__servers_list = manifold "servers_list"
    "#]],
    );
}

#[track_caller]
fn check_descriptions(settings: &str, server: &str, expected: Expect) {
    let world = World::new(&format!(
        r#"{{"mcpServers":{{"fs":{{"builtin":"time"{server}}}}},"managerTools":false{settings}}}"#
    ));
    world.fake("fs").publish(
        r#"{"tools":[{"name":"full","description":"Reads a \"file\"","inputSchema":{ "z":1.0, "a" : [] },"x-new":1e2},
            {"name":"empty","description":""},{"name":"none"},{"name":"wrong","description":7},
            {"name":"odd","description":"a\u00e9\/\ud83d"}]}"#,
    );
    let list = world.gateway.catalog().shown(Kind::Tools).get("tools").unwrap().elements().unwrap();
    let text: String = list.iter().map(|tool| format!("{tool}\n")).collect();
    expected.assert_eq(&text);
}

// S1-18, S1-19, S3-6, decision 10
#[tokio::test(start_paused = true)]
async fn descriptions_tell_the_server_and_all_else_keeps_its_bytes() {
    check_descriptions(
        "",
        "",
        expect![[r#"
            {"name":"fs__full","description":"[fs] Reads a \"file\"","inputSchema":{ "z":1.0, "a" : [] },"x-new":1e2}
            {"name":"fs__empty","description":"[fs]"}
            {"name":"fs__none","description":"[fs]"}
            {"name":"fs__wrong","description":"[fs]"}
            {"name":"fs__odd","description":"[fs] a\u00e9\/\ud83d"}
        "#]],
    );
    check_descriptions(
        "",
        r#","name":"My Files""#,
        expect![[r#"
            {"name":"fs__full","description":"[My Files] Reads a \"file\"","inputSchema":{ "z":1.0, "a" : [] },"x-new":1e2}
            {"name":"fs__empty","description":"[My Files]"}
            {"name":"fs__none","description":"[My Files]"}
            {"name":"fs__wrong","description":"[My Files]"}
            {"name":"fs__odd","description":"[My Files] a\u00e9\/\ud83d"}
        "#]],
    );
    check_descriptions(
        r#","prefixDescriptions":false"#,
        "",
        expect![[r#"
            {"name":"fs__full","description":"Reads a \"file\"","inputSchema":{ "z":1.0, "a" : [] },"x-new":1e2}
            {"name":"fs__empty","description":""}
            {"name":"fs__none"}
            {"name":"fs__wrong","description":7}
            {"name":"fs__odd","description":"a\u00e9\/\ud83d"}
        "#]],
    );
}

#[track_caller]
fn check_prompts(settings: &str, expected: Expect) {
    let world = World::new(&servers(&["a", "b", "c"], settings));
    world.fake("a").publish(r#"{"prompts":[{"name":"greet"},{"name":"only","arguments":[ ]}]}"#);
    world.fake("b").publish(r#"{"prompts":[{"name":"greet","title":"B"},{"name":"c__greet"}]}"#);
    world.fake("c").publish(r#"{"prompts":[{"name":"greet"}]}"#);
    let catalog = world.gateway.catalog();
    let mut text = String::new();
    for prompt in catalog.shown(Kind::Prompts).get("prompts").unwrap().elements().unwrap() {
        let name = prompt.get("name").unwrap().to_text().unwrap().into_owned();
        let route = catalog.prompt(&name).unwrap();
        text += &format!("{prompt} = {} {}\n", catalog.member(route.member).key.id, route.original);
    }
    expected.assert_eq(&text);
}

#[tokio::test(start_paused = true)]
async fn prompts_bear_their_server_always_on_a_clash_or_never() {
    check_prompts(
        r#""prefixPrompts":true"#,
        expect![[r#"
        {"name":"a__greet"} = a greet
        {"name":"a__only","arguments":[ ]} = a only
        {"name":"b__greet","title":"B"} = b greet
        {"name":"b__c__greet"} = b c__greet
        {"name":"c__greet"} = c greet
    "#]],
    );
    check_prompts(
        r#""prefixPrompts":"onClash""#,
        expect![[r#"
        {"name":"greet"} = a greet
        {"name":"only","arguments":[ ]} = a only
        {"name":"b__greet","title":"B"} = b greet
        {"name":"c__greet"} = b c__greet
        {"name":"c__greet_45ac8a70"} = c greet
    "#]],
    );
    check_prompts(
        r#""prefixPrompts":false"#,
        expect![[r#"
        {"name":"greet"} = a greet
        {"name":"only","arguments":[ ]} = a only
        {"name":"b__greet_babe1a70","title":"B"} = b greet
        {"name":"c__greet"} = b c__greet
        {"name":"c__greet_45ac8a70"} = c greet
    "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn a_prompt_listed_twice_counts_once() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(r#"{"prompts":[{"name":"greet"},{"name":"greet"}]}"#);
    assert_eq!(world.names(Kind::Prompts).await, ["a__greet"]);
}

#[tokio::test(start_paused = true)]
async fn a_bare_prompt_is_found_where_only_one_server_has_it() {
    let world = World::new(&servers(&["a", "b"], ""));
    world.fake("a").publish(r#"{"prompts":[{"name":"greet"},{"name":"only"}]}"#);
    world.fake("b").publish(r#"{"prompts":[{"name":"greet"}]}"#);
    let catalog = world.gateway.catalog();
    assert_eq!(
        catalog.prompt("only"),
        Some(ItemRoute { member: 0, original: "only".to_owned(), decisions: Decisions::ALLOW })
    );
    assert_eq!(catalog.prompt("greet"), None);
    assert_eq!(
        catalog.prompt("b__greet"),
        Some(ItemRoute { member: 1, original: "greet".to_owned(), decisions: Decisions::ALLOW })
    );
}

// Decision 22
#[tokio::test(start_paused = true)]
async fn resources_keep_their_uris_unless_two_servers_claim_one() {
    let world = World::new(&servers(&["a", "b_2"], ""));
    world
        .fake("a")
        .publish(r#"{"resources":[{"uri":"file:///x","name":"X"},{"uri":"file:///x","name":"again"}]}"#);
    world.fake("b_2").publish(r#"{"resources":[{"name":"X2","uri":"file:///x"},{"uri":"b://y"}]}"#);
    let catalog = world.gateway.catalog();
    expect![[r#"{"resources":[{"uri":"file:///x","name":"X"},{"name":"X2","uri":"b-2+file:///x"},{"uri":"b://y"}]}"#]].assert_eq(catalog.shown(Kind::Resources).as_str());
    let owner = |member: usize, original: &str| {
        ResourceOwner::One(ItemRoute { member, original: original.to_owned(), decisions: Decisions::ALLOW })
    };
    assert_eq!(catalog.resource("file:///x"), owner(0, "file:///x"));
    assert_eq!(catalog.resource("b-2+file:///x"), owner(1, "file:///x"));
    assert_eq!(catalog.resource("b://y"), owner(1, "b://y"));
    assert_eq!(catalog.exposed_uri(1, "file:///x").as_deref(), Some("b-2+file:///x"));
    assert_eq!(catalog.exposed_uri(0, "file:///x").as_deref(), Some("file:///x"));
}

#[tokio::test(start_paused = true)]
async fn a_template_owns_what_is_not_listed() {
    let world = World::new(&servers(&["a", "b"], ""));
    world
        .fake("a")
        .publish(r#"{"resourceTemplates":[{"uriTemplate":"db://{+any}"}],"resources":[{"uri":"db://b/1"}]}"#);
    world.fake("b").publish(r#"{"resourceTemplates":[{"uriTemplate":"db://b/{id}"}]}"#);
    let catalog = world.gateway.catalog();
    let owner = |member: usize, original: &str| {
        ResourceOwner::One(ItemRoute { member, original: original.to_owned(), decisions: Decisions::ALLOW })
    };
    assert_eq!(catalog.resource("db://b/1"), owner(0, "db://b/1"), "listed goes first");
    assert_eq!(catalog.resource("db://b/2"), owner(1, "db://b/2"), "the more telling template");
    assert_eq!(catalog.resource("db://c/2"), owner(0, "db://c/2"));
    assert_eq!(catalog.resource("db://b/{id}"), owner(1, "db://b/{id}"), "a template by its own name");
    assert_eq!(catalog.resource("db:x"), ResourceOwner::Perhaps(vec![0, 1]), "others of its scheme (L16)");
    assert_eq!(catalog.resource("other://x"), ResourceOwner::Perhaps(vec![]));
}

#[tokio::test(start_paused = true)]
async fn of_two_equal_templates_the_second_gets_a_prefix_both_ways() {
    let world = World::new(&servers(&["a", "b"], ""));
    for id in ["a", "b"] {
        world.fake(id).publish(r#"{"resourceTemplates":[{"uriTemplate":"db://{id}","name":"rows"}]}"#);
    }
    let catalog = world.gateway.catalog();
    expect![[r#"{"resourceTemplates":[{"uriTemplate":"db://{id}","name":"rows"},{"uriTemplate":"b+db://{id}","name":"rows"}]}"#]].assert_eq(catalog.shown(Kind::Templates).as_str());
    let owner = |member: usize, original: &str| {
        ResourceOwner::One(ItemRoute { member, original: original.to_owned(), decisions: Decisions::ALLOW })
    };
    assert_eq!(catalog.resource("db://7"), owner(0, "db://7"));
    assert_eq!(catalog.resource("b+db://7"), owner(1, "db://7"), "the server never heard of the prefix");
    assert_eq!(catalog.resource("b+db://{id}"), owner(1, "db://{id}"));
    assert_eq!(catalog.exposed_uri(1, "db://7").as_deref(), Some("b+db://7"));
    assert_eq!(catalog.exposed_uri(0, "db://7"), None);
}

#[tokio::test(start_paused = true)]
async fn only_servers_that_may_have_resources_are_tried() {
    let world = World::new(
        r#"{"mcpServers":{"a":{"builtin":"time"},"b":{"builtin":"time"},"off":{"builtin":"time","disabled":true},
            "broken":{"command":"no-such-program"},"unread":{"builtin":"time"}}}"#,
    );
    world.fake("a").publish(&tools(&["x"]));
    world.fake("b").publish(r#"{"resources":[{"uri":"X+1://listed"}]}"#);
    let catalog = world.gateway.catalog();
    assert_eq!(catalog.resource("x+1://y"), ResourceOwner::Perhaps(vec![1]));
    assert_eq!(catalog.resource("x+1:"), ResourceOwner::Perhaps(vec![1]));
    for uri in ["x://y", "x+1", "x+1/://y", "+1://y", "", ":"] {
        assert_eq!(catalog.resource(uri), ResourceOwner::Perhaps(vec![]), "{uri}");
    }
}

// L16: skills are read by addresses that no list need have.
#[tokio::test(start_paused = true)]
async fn a_server_of_skills_may_have_any_of_them() {
    let world = World::new(&servers(&["a", "b"], ""));
    world.fake("a").publish(r#"{"resources":[{"uri":"x://1"}]}"#);
    let skills = r#"{"resources":[],"capabilities":{"extensions":{"io.modelcontextprotocol/skills":{}}}}"#;
    world.fake("b").publish(skills);
    assert_eq!(world.gateway.catalog().resource("skill://x/SKILL.md"), ResourceOwner::Perhaps(vec![1]));
}

#[tokio::test(start_paused = true)]
async fn instructions_are_merged_under_their_servers() {
    let world = World::new(&servers(&["a", "b", "c"], ""));
    assert_eq!(world.gateway.introduction().instructions, None);
    world.fake("a").publish(r#"{"instructions":" Be kind.\n"}"#);
    world.fake("b").publish(r#"{"instructions":"  "}"#);
    world.fake("c").publish(r#"{"instructions":"Be brief."}"#);
    expect![[r#"
        # a
        Be kind.

        # c
        Be brief."#]]
    .assert_eq(&world.gateway.introduction().instructions.unwrap());
}

// S3-17
#[tokio::test(start_paused = true)]
async fn the_all_in_one_profile_lists_its_services_alone() {
    let world = World::of_profile(Profile::McpAllInOne, &servers(&["Time", "web-search"], ""));
    world.fake("Time").publish(&tools(&["get_current_time"]));
    world.fake("web-search").publish(&tools(&["webSearchPrime"]));
    assert_eq!(world.names(Kind::Tools).await, ["Time__get_current_time", "web-search__webSearchPrime"]);
}
