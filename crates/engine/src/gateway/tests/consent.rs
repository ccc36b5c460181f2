//! What the rules come to for one item, by rules that no config can have yet.

use manifold_protocol::{CodeSet, Failure, Fault, Kind};

use crate::catalog::Catalog;
use crate::fake::{World, servers, tools};
use crate::policy::{Decision, Decisions};

const OFFER: &str = r#"{"tools":[{"name":"x"},{"name":"y"}],"prompts":[{"name":"x"}],
    "resources":[{"uri":"x://1"}],"resourceTemplates":[{"uriTemplate":"y://{id}"}],
    "capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{}}}"#;

const ITEMS: [(Kind, &str); 4] = [
    (Kind::Tools, "a__x"),
    (Kind::Prompts, "a__x"),
    (Kind::Resources, "x://1"),
    (Kind::Templates, "y://{id}"),
];

fn world(decision: Option<Decision>) -> World {
    let world = World::new(&servers(&["a"], r#""managerTools":false"#));
    world.fake("a").publish(OFFER);
    if let Some(decision) = decision {
        // Another class may use them, so they are in the catalog.
        let decisions = Decisions::ALLOW.with(0, decision);
        let mut catalog = Catalog::build(world.gateway.catalog().view.clone());
        ITEMS.iter().for_each(|(kind, exposed)| catalog.rule(*kind, exposed, decisions));
        world.gateway.catalog.store(catalog.into());
    }
    world
}

const USES: [(&str, &str); 7] = [
    ("tools/call", r#"{"name":"a__x"}"#),
    ("prompts/get", r#"{"name":"a__x"}"#),
    ("resources/read", r#"{"uri":"x://1"}"#),
    ("resources/read", r#"{"uri":"y://1"}"#),
    ("resources/subscribe", r#"{"uri":"x://1"}"#),
    ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"a__x"}}"#),
    ("completion/complete", r#"{"ref":{"type":"ref/resource","uri":"y://{id}"}}"#),
];

// Issue 13, wall 6
#[tokio::test(start_paused = true)]
async fn what_needs_consent_is_listed_and_not_used() {
    let world = world(Some(Decision::Ask));
    assert_eq!(world.names(Kind::Tools).await, ["a__x", "a__y"]);
    assert_eq!(world.names(Kind::Templates).await, ["y://{id}"]);
    for (method, params) in USES {
        let refused = world.reply(method, params).await.unwrap_err();
        let Failure::Fault(fault @ Fault::NeedsConsent { .. }) = refused else {
            panic!("{method}: {refused:?}")
        };
        assert_eq!(fault.code(CodeSet::Own), -32603);
        assert!(fault.message().contains("ask the user to permit it in the config"), "{}", fault.message());
    }
    assert_eq!(world.fake("a").calls(), [""; 0]);
    assert!(world.call("resources/unsubscribe", r#"{"uri":"x://1"}"#).await.starts_with('{'));
    let used = world.call("tools/call", r#"{"name":"a__y"}"#).await;
    assert_eq!(used, r#"{"by":"a","sent":{"name":"y"}}"#);
}

// Issue 13, wall 6; T7
#[tokio::test(start_paused = true)]
async fn what_is_hidden_from_whoever_asks_is_answered_as_if_it_were_not_there() {
    let hidden = world(Some(Decision::Hide));
    let without = World::new(&servers(&["a"], r#""managerTools":false"#));
    let rest = r#"{"tools":[{"name":"y"}],"capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{}}}"#;
    without.fake("a").publish(rest);
    for kind in Kind::ALL {
        assert_eq!(hidden.names(kind).await, without.names(kind).await);
    }
    for (method, params) in USES {
        assert_eq!(
            hidden.call(method, params).await,
            without.call(method, params).await,
            "{method} {params}"
        );
    }
    assert_eq!(hidden.fake("a").calls(), [""; 0]);
    let bare = r#"{"name":"x"}"#;
    assert_eq!(hidden.call("tools/call", bare).await, without.call("tools/call", bare).await);
}

#[tokio::test(start_paused = true)]
async fn a_view_of_the_rules_is_rendered_once() {
    let world = world(Some(Decision::Hide));
    let first = world.list_as(Kind::Tools, "{}").await;
    assert_eq!(first.items.as_str(), r#"[{"name":"a__y","description":"[a]"}]"#);
    assert!(std::sync::Arc::ptr_eq(&first, &world.list_as(Kind::Tools, r#"{"roots":{}}"#).await));
    world.fake("a").publish(&tools(&["x"]));
    assert_eq!(world.names(Kind::Tools).await, ["a__x"], "a new catalog has views of its own");
}
