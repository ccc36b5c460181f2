use manifold_protocol::{Freshness, Scope};

use super::*;
use crate::audience::Audience;
use crate::fake::{World, servers, tools};

const ASKED: &str = r#"{"sampling":{}}"#;

fn world(offer: &str, settings: &str) -> World {
    world_of(Audience::Shared, offer, settings)
}

fn world_of(audience: Audience, offer: &str, settings: &str) -> World {
    let world = World::open(&servers(&["a", "b"], settings), None, audience);
    world.fake("a").publish(offer);
    world.fake("b").publish(&tools(&["echo", "sample"]));
    world
}

fn names(list: &List) -> Vec<String> {
    let names = |items: &Raw| -> Vec<String> {
        let items = items.elements().unwrap();
        items
            .iter()
            .map(|item| item.get(list.kind.label()).unwrap().to_text().unwrap().into_owned())
            .collect()
    };
    assert_eq!(names(&list.items), names(&list.strict_items));
    names(&list.items)
}

const NO_MANAGER: &str = r#""managerTools":false"#;

// D5
#[tokio::test]
async fn what_is_not_for_a_caller_is_left_out_for_it_alone() {
    let offer = r#"{"tools":[{"name":"sample","outputSchema":{"type":"array"}},{"name":"echo"}],
        "prompts":[{"name":"sample"},{"name":"p"}],"resources":[{"uri":"x://1"},{"uri":"x://2"}],
        "resourceTemplates":[{"uriTemplate":"x://{a}"},{"uriTemplate":"y://{a}"}]}"#;
    let world = world(offer, NO_MANAGER);
    world.fake("a").withholds(&[("{}", &["sample", "x://1", "y://{a}", "gone"])]);
    let all = ["a__sample", "a__echo", "b__echo", "b__sample"];
    assert_eq!(names(&*world.list_as(Kind::Tools, ASKED).await), all);
    assert_eq!(names(&*world.list_as(Kind::Tools, "{}").await), ["a__echo", "b__echo", "b__sample"]);
    assert_eq!(names(&*world.list_as(Kind::Prompts, "{}").await), ["a__p"]);
    assert_eq!(names(&*world.list_as(Kind::Resources, "{}").await), ["x://2"]);
    assert_eq!(names(&*world.list_as(Kind::Templates, "{}").await), ["x://{a}"]);
    assert_eq!(world.names(Kind::Tools).await, all, "of whom nothing is known sees everything");
    let answer = world.call("tools/call", r#"{"name":"a__sample"}"#).await;
    assert_eq!(answer, r#"{"by":"a","sent":{"name":"sample"}}"#, "calls find their way as before");
}

// D5
#[tokio::test]
async fn a_view_is_rendered_once_for_a_catalog() {
    let world = world(&tools(&["echo", "sample"]), NO_MANAGER);
    let (a, b) = (world.fake("a"), world.fake("b"));
    let whole = world.list_as(Kind::Tools, "{}").await;
    assert!(Arc::ptr_eq(&whole, &world.list_as(Kind::Tools, ASKED).await), "nothing is withheld");
    a.withholds(&[("{}", &["sample"]), (r#"{"roots":{}}"#, &["sample"])]);
    a.publish(&tools(&["echo", "sample"]));
    let first = world.list_as(Kind::Tools, "{}").await;
    assert_eq!(names(&first), ["a__echo", "b__echo", "b__sample"]);
    assert!(Arc::ptr_eq(&first, &world.list_as(Kind::Tools, "{}").await));
    assert_eq!(a.asked_withheld(), 1, "a second list is looked up");
    assert!(
        Arc::ptr_eq(&first, &world.list_as(Kind::Tools, r#"{"roots":{}}"#).await),
        "one for the same sight"
    );
    let all = world.list_as(Kind::Tools, ASKED).await;
    assert!(Arc::ptr_eq(&all, world.gateway.catalog().list(Kind::Tools)), "who sees all sees the one list");
    for n in 0..MAX_VIEWS {
        world.list_as(Kind::Tools, &format!(r#"{{"c{n}":{{}}}}"#)).await;
    }
    let long = format!(r#"{{"c":"{}"}}"#, "x".repeat(MAX_KEY_BYTES));
    assert_eq!(names(&*world.list_as(Kind::Tools, &long).await).len(), 4);
    let catalog = world.gateway.catalog();
    assert!(catalog.views.kept.lock().unwrap().len() <= MAX_VIEWS);
    b.publish(&tools(&["other"]));
    assert_eq!(names(&*world.list_as(Kind::Tools, "{}").await), ["a__echo", "b__other"]);
}

// D5: servers that work for one client were told what it can do, and roots of the config are declared for everybody
#[tokio::test]
async fn a_view_is_for_those_who_share_and_knows_the_roots() {
    for (audience, shown) in [(Audience::Shared, 3), (Audience::One, 4)] {
        let settings = r#""managerTools":false,"roots":["file:///r"]"#;
        let world = world_of(audience, &tools(&["echo", "sample"]), settings);
        world.fake("a").withholds(&[(r#"{"roots":{}}"#, &["sample"])]);
        assert_eq!(names(&*world.list_as(Kind::Tools, "{}").await).len(), shown);
    }
}

#[tokio::test]
async fn a_view_may_be_kept_by_its_caller_alone() {
    let world = world("{}", NO_MANAGER);
    let freshness = Freshness { ttl_ms: 5, scope: Scope::Public };
    for id in ["a", "b"] {
        world
            .fake(id)
            .publish_with(&tools(&["echo", "sample"]), |listing| listing.freshness = [freshness; 4]);
    }
    world.fake("a").withholds(&[("{}", &["sample"])]);
    assert_eq!(world.list_as(Kind::Tools, ASKED).await.freshness, freshness);
    let private = Freshness { scope: Scope::Private, ..freshness };
    assert_eq!(world.list_as(Kind::Tools, "{}").await.freshness, private);
}
