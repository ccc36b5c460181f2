//! What a credential grants: lists show it, and every call is judged by it again.

use std::sync::Arc;

use manifold_config::Grant;
use manifold_protocol::{Answer, Failure, Fault, Kind, Method, Scope};

use crate::fake::{Asked, World, call, raw, servers};
use crate::principal::{Grants, Principal, Requester};

const OFFER: &str = r#"{"tools":[{"name":"x"},{"name":"y"}],"prompts":[{"name":"x"}],
    "resources":[{"uri":"x://1"}],"capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{}}}"#;

fn world() -> World {
    let world = World::new(&servers(&["a"], r#""managerTools":false"#));
    world.fake("a").publish(OFFER);
    world
}

fn grant(tools: &[&str]) -> Grant {
    Grant { namespaces: None, tools: Some(tools.iter().map(|&tool| tool.to_owned()).collect()) }
}

fn holder(grants: Grants) -> Arc<Requester> {
    Arc::new(Requester::granted(Principal::Token("ci".into()), None, Some(Arc::new(grants))))
}

async fn fault(world: &World, who: &Arc<Requester>, method: &str, params: &str) -> Option<Fault> {
    let (exchange, asked) = Asked::open_by(Some(Arc::clone(who)));
    world.gateway.dispatch(call(method, params), exchange);
    match asked.reply.await.unwrap() {
        Ok(_) => None,
        Err(Failure::Fault(fault)) => Some(fault),
        Err(other) => panic!("{other:?}"),
    }
}

async fn shown(world: &World, who: &Arc<Requester>, kind: Kind) -> (Vec<String>, Scope) {
    let (exchange, asked) = Asked::open_by(Some(Arc::clone(who)));
    world.gateway.dispatch(call(kind.list_method().as_str(), "{}"), exchange);
    let Ok(Answer::List(list)) = asked.reply.await.unwrap() else { panic!("a list") };
    let names = list.items.elements().unwrap();
    let label =
        |item: &manifold_protocol::Raw| item.get(kind.label()).unwrap().to_text().unwrap().into_owned();
    (names.iter().map(label).collect(), list.freshness.scope)
}

#[tokio::test(start_paused = true)]
async fn only_what_was_granted_is_there() {
    let world = world();
    let ci = holder(Grants::only(grant(&["*__x"])));
    assert_eq!(shown(&world, &ci, Kind::Tools).await, (vec!["a__x".to_owned()], Scope::Private));
    assert_eq!(shown(&world, &ci, Kind::Prompts).await, (vec![], Scope::Private));
    assert_eq!(world.names(Kind::Tools).await, ["a__x", "a__y"], "others see what they saw");
    for name in ["a__x", "a.x", "x"] {
        assert_eq!(
            fault(&world, &ci, "tools/call", &format!(r#"{{"name":"{name}"}}"#)).await,
            None,
            "{name}"
        );
    }
    for name in ["a__y", "a.y", "y", "A__X"] {
        let refused = fault(&world, &ci, "tools/call", &format!(r#"{{"name":"{name}"}}"#)).await.unwrap();
        let is_unknown = matches!(
            refused,
            Fault::UnknownTool(_) | Fault::UnknownToolOf { .. } | Fault::UnknownServer { .. }
        );
        assert!(is_unknown, "{name}: {refused:?}");
    }
    let refused = fault(&world, &ci, "prompts/get", r#"{"name":"a__x"}"#).await;
    assert_eq!(refused, Some(Fault::UnknownPrompt("a__x".to_owned())));
    let refused = fault(&world, &ci, "resources/read", r#"{"uri":"x://1"}"#).await;
    assert_eq!(refused, Some(Fault::UnknownResource("x://1".to_owned())));
    assert_eq!(world.fake("a").calls().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_not_known_is_asked_for_before_a_tool_is_judged() {
    let world = World::new(&servers(&["a"], r#""managerTools":false"#));
    let ci = holder(Grants::only(grant(&["a__x"])));
    let refused = fault(&world, &ci, "tools/call", r#"{"name":"a__y"}"#).await;
    assert!(refused.is_some(), "nothing is sent on a guess");
    assert_eq!(world.fake("a").calls(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn what_needs_a_scope_says_which_before_and_after() {
    let world = world();
    let by_scope = vec![("write".into(), grant(&["a__y"]))];
    let reader = holder(Grants::scoped(vec![grant(&["a__x"])], by_scope, vec!["mcp".into()]));
    assert_eq!(shown(&world, &reader, Kind::Tools).await.0, ["a__x", "a__y"]);
    let needed = |name: &str| {
        let params = raw(&format!(r#"{{"name":"{name}"}}"#));
        let scopes = world.gateway.missing_scopes(&reader, &Method::ToolsCall, Some(&params));
        scopes.map(|scopes| scopes.join(" "))
    };
    for name in ["a__y", "a.y", "y"] {
        assert_eq!(needed(name).as_deref(), Some("mcp write"), "{name}");
        let params = format!(r#"{{"name":"{name}"}}"#);
        let scopes = vec!["mcp".to_owned(), "write".to_owned()];
        assert_eq!(fault(&world, &reader, "tools/call", &params).await, Some(Fault::NeedsScope { scopes }));
    }
    assert_eq!((needed("a__x"), needed("none")), (None, None));
    let anybody = Requester::local();
    assert_eq!(world.gateway.missing_scopes(&anybody, &Method::ToolsCall, None), None);
}

/// Who listens for changes of a resource is judged as who reads it.
#[tokio::test(start_paused = true)]
async fn listening_to_a_resource_needs_what_reading_it_does() {
    let world = world();
    let by_scope = vec![("all".into(), Grant::default())];
    let reader = holder(Grants::scoped(vec![grant(&["a__x"])], by_scope, Vec::new()));
    let needed = |method: &Method, params: &str| {
        let scopes = world.gateway.missing_scopes(&reader, method, Some(&raw(params)));
        scopes.map(|scopes| scopes.join(" "))
    };
    let named = r#"{"notifications":{"resourceSubscriptions":["x://1"]}}"#;
    assert_eq!(needed(&Method::ResourcesRead, r#"{"uri":"x://1"}"#).as_deref(), Some("all"));
    assert_eq!(needed(&Method::Listen, named).as_deref(), Some("all"));
    for none in [r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":[]}}"#, "{}"] {
        assert_eq!(needed(&Method::Listen, none), None, "{none}");
    }
}
