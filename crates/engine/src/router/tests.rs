use expect_test::{Expect, expect};
use manifold_protocol::CodeSet;

use super::*;
use crate::fake::{World, raw, servers, tools};
use crate::principal::Principal;

/// Three servers, one whose list is not known yet.
fn world(settings: &str) -> World {
    let world = World::new(&servers(&["web", "web-search", "lazy", "a.b"], settings));
    world.fake("web").publish(&tools(&["fetch", "search-deep", "both", "x__y", "sp ace"]));
    world.fake("web-search").publish(&tools(&["prime", "both", "fetch_deadbeef"]));
    world.fake("a.b").publish(&tools(&["t"]));
    world
}

fn found(world: &World, name: &str, asked: bool) -> String {
    let catalog = world.gateway.catalog();
    let id = |at: usize| catalog.member(at).key.id.clone();
    match find_tool(&catalog, &Principal::Local, name, asked) {
        Ok(Found::Tool(route)) => format!("{} {}", id(route.member), route.original),
        Ok(Found::Unlisted { member, original }) => format!("unlisted {} {original:?}", id(member)),
        Ok(Found::AskFirst(members)) => format!("ask {:?}", members.into_iter().map(id).collect::<Vec<_>>()),
        Ok(Found::AskAll) => "ask all".to_owned(),
        Err(fault) => fault.to_error(CodeSet::Own).as_str().to_owned(),
    }
}

#[track_caller]
fn check(settings: &str, names: &[&str], expected: Expect) {
    check_asked(settings, names, false, expected);
}

#[track_caller]
fn check_asked(settings: &str, names: &[&str], asked: bool, expected: Expect) {
    let world = world(settings);
    let text: String =
        names.iter().map(|name| format!("{name} -> {}\n", found(&world, name, asked))).collect();
    expected.assert_eq(&text);
}

// Decision 6, S2-16
#[tokio::test]
async fn routing_is_liberal() {
    let names = [
        "web__fetch",
        "web.fetch",
        "web-fetch",
        "web-search__prime",
        "web-search-prime",
        "web-search.prime",
        "web-search-deep",
        "web__x__y",
        "web-x__y",
        "fetch",
        "x__y",
        "both",
        "web-both",
        "a_b_t",
        "prime",
    ];
    check(
        "",
        &names,
        expect![[r#"
        web__fetch -> web "fetch"
        web.fetch -> web "fetch"
        web-fetch -> web "fetch"
        web-search__prime -> web-search "prime"
        web-search-prime -> web-search "prime"
        web-search.prime -> web-search "prime"
        web-search-deep -> web "search-deep"
        web__x__y -> web "x__y"
        web-x__y -> web "x__y"
        fetch -> web "fetch"
        x__y -> web "x__y"
        both -> {"code":-32601,"message":"Tool 'both' not found"}
        web-both -> web "both"
        a_b_t -> ask all
        prime -> web-search "prime"
    "#]],
    );
    check(
        r#""separator":"-""#,
        &names,
        expect![[r#"
        web__fetch -> web "fetch"
        web.fetch -> web "fetch"
        web-fetch -> web "fetch"
        web-search__prime -> web-search "prime"
        web-search-prime -> web-search "prime"
        web-search.prime -> web-search "prime"
        web-search-deep -> web "search-deep"
        web__x__y -> web "x__y"
        web-x__y -> web "x__y"
        fetch -> web "fetch"
        x__y -> web "x__y"
        both -> {"code":-32601,"message":"Tool 'both' not found"}
        web-both -> web "both"
        a_b_t -> ask all
        prime -> web-search "prime"
    "#]],
    );
    check(
        r#""separator":".""#,
        &names,
        expect![[r#"
        web__fetch -> web "fetch"
        web.fetch -> web "fetch"
        web-fetch -> web "fetch"
        web-search__prime -> web-search "prime"
        web-search-prime -> web-search "prime"
        web-search.prime -> web-search "prime"
        web-search-deep -> web "search-deep"
        web__x__y -> web "x__y"
        web-x__y -> web "x__y"
        fetch -> web "fetch"
        x__y -> web "x__y"
        both -> {"code":-32601,"message":"Tool 'both' not found"}
        web-both -> web "both"
        a_b_t -> ask all
        prime -> web-search "prime"
    "#]],
    );
    check(
        r#""separator":"""#,
        &names,
        expect![[r#"
        web__fetch -> web "fetch"
        web.fetch -> web "fetch"
        web-fetch -> web "fetch"
        web-search__prime -> web-search "prime"
        web-search-prime -> web-search "prime"
        web-search.prime -> web-search "prime"
        web-search-deep -> web "search-deep"
        web__x__y -> web "x__y"
        web-x__y -> web "x__y"
        fetch -> web "fetch"
        x__y -> web "x__y"
        both -> web "both"
        web-both -> web "both"
        a_b_t -> ask all
        prime -> web-search "prime"
    "#]],
    );
}

// Decision 15: so that the client hears why.
#[tokio::test]
async fn a_server_not_listed_yet_is_routed_by_its_prefix() {
    check(
        "",
        &["lazy__do", "lazy.do.it", "lazy-do__it", "lazy__", "lazy", "lazy__sp ace"],
        expect![[r#"
        lazy__do -> unlisted lazy "do"
        lazy.do.it -> unlisted lazy "do.it"
        lazy-do__it -> unlisted lazy "do__it"
        lazy__ -> {"code":-32601,"message":"Tool 'lazy__' not found"}
        lazy -> ask all
        lazy__sp ace -> unlisted lazy "sp ace"
    "#]],
    );
}

#[tokio::test]
async fn what_needs_the_list_waits_for_it() {
    check(
        "",
        &["lazy__do_0123abcd", "lazy__do_0123ABCD", "lazy__do_0123abc", "web__fetch_0123abcd"],
        expect![[r#"
        lazy__do_0123abcd -> ask ["lazy"]
        lazy__do_0123ABCD -> unlisted lazy "do_0123ABCD"
        lazy__do_0123abc -> unlisted lazy "do_0123abc"
        web__fetch_0123abcd -> {"code":-32601,"message":"Tool 'fetch_0123abcd' not found on server 'web'","data":{"serverId":"web","service":"web","toolName":"fetch_0123abcd"}}
    "#]],
    );
    check(
        r#""validateArguments":"required""#,
        &["lazy__do", "web__fetch", "nobody__do"],
        expect![[r#"
        lazy__do -> ask ["lazy"]
        web__fetch -> web "fetch"
        nobody__do -> {"code":-32000,"message":"Server 'nobody' not found: no configured server offers 'do'","data":{"serverId":"nobody","toolName":"do"}}
    "#]],
    );
    let world = world("");
    assert_eq!(found(&world, "lazy__do_0123abcd", true), r#"unlisted lazy "do_0123abcd""#);
}

// Decision 12
#[tokio::test]
async fn unknown_names_tell_what_is_unknown() {
    check_asked(
        "",
        &["web__nothing", "nobody__tool", "nothing", "__x", "manifold__nothing", "Web__fetch"],
        true,
        expect![[r#"
        web__nothing -> {"code":-32601,"message":"Tool 'nothing' not found on server 'web'","data":{"serverId":"web","service":"web","toolName":"nothing"}}
        nobody__tool -> {"code":-32000,"message":"Server 'nobody' not found: no configured server offers 'tool'","data":{"serverId":"nobody","toolName":"tool"}}
        nothing -> {"code":-32601,"message":"Tool 'nothing' not found"}
        __x -> {"code":-32601,"message":"Tool '__x' not found"}
        manifold__nothing -> {"code":-32601,"message":"Tool 'manifold__nothing' not found"}
        Web__fetch -> {"code":-32000,"message":"Server 'Web' not found: no configured server offers 'fetch'","data":{"serverId":"Web","toolName":"fetch"}}
    "#]],
    );
    check_asked(
        r#""errorCodes":"standard""#,
        &["web__nothing", "nobody__tool", "nothing"],
        true,
        expect![[r#"
        web__nothing -> {"code":-32601,"message":"Tool 'nothing' not found on server 'web'","data":{"serverId":"web","service":"web","toolName":"nothing"}}
        nobody__tool -> {"code":-32601,"message":"Tool 'nobody__tool' not found"}
        nothing -> {"code":-32601,"message":"Tool 'nothing' not found"}
    "#]],
    );
    check_asked(
        r#""separator":"""#,
        &["nobody__tool"],
        true,
        expect![[r#"
        nobody__tool -> {"code":-32601,"message":"Tool 'nobody__tool' not found"}
    "#]],
    );
}

#[tokio::test]
async fn manager_tools_are_found_by_their_full_or_bare_names() {
    check(
        "",
        &["manifold__servers_list", "servers_list"],
        expect![[r#"
        manifold__servers_list -> manifold "servers_list"
        servers_list -> manifold "servers_list"
    "#]],
    );
    check(
        r#""managerTools":false"#,
        &["manifold__servers_list", "servers_list"],
        expect![[r#"
        manifold__servers_list -> {"code":-32000,"message":"Server 'manifold' not found: no configured server offers 'servers_list'","data":{"serverId":"manifold","toolName":"servers_list"}}
        servers_list -> ask all
    "#]],
    );
}

// S3-11, decision 12
#[test]
fn an_unknown_tool_has_its_code_in_every_set() {
    let faults = [
        Fault::UnknownTool("x".to_owned()),
        Fault::UnknownToolOf { server: "s".to_owned(), tool: "x".to_owned() },
        Fault::UnknownServer { server: "s".to_owned(), tool: "x".to_owned() },
    ];
    let codes =
        |fault: &Fault| [CodeSet::Own, CodeSet::Standard, CodeSet::Modern].map(|codes| fault.code(codes));
    assert_eq!(codes(&faults[0]), [-32601, -32601, -32602]);
    assert_eq!(codes(&faults[1]), [-32601, -32601, -32602]);
    assert_eq!(codes(&faults[2]), [-32000, -32601, -32602]);
}

#[track_caller]
fn check_rename(result: &str, expected: Expect) {
    expected.assert_eq(rename_contents(&raw(result), "file:///x", "b+file:///x").as_str());
}

#[test]
fn read_results_name_what_the_client_asked_for() {
    check_rename(
        r#"{"contents":[{"uri":"file:///x","text":"file:///x"},{"uri":"file:///x/y"}],"_meta":{ }}"#,
        expect![[
            r#"{"contents":[{"uri":"b+file:///x","text":"file:///x"},{"uri":"file:///x/y"}],"_meta":{ }}"#
        ]],
    );
    check_rename(
        r#"{"contents":[{"uri":"file:\/\/\/x"},7,{"uri":8},{}]}"#,
        expect![[r#"{"contents":[{"uri":"b+file:///x"},7,{"uri":8},{}]}"#]],
    );
    check_rename(r#"{"contents":7}"#, expect![[r#"{"contents":7}"#]]);
    check_rename(r#"[]"#, expect!["[]"]);
}
