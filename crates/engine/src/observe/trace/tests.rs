use manifold_protocol::Method;

use super::*;
use crate::fake::{Asked, World, call, servers};
use crate::principal::Requester;

const PARENT_OF_ALL: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// What is no `traceparent`, each for a reason of its own.
pub(crate) const BAD: [&str; 12] = [
    "",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
    "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01",
    "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
    "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-zz",
];

fn tracer(ratio: f64, baggage: &[&str]) -> Tracer {
    let baggage = baggage.iter().map(|name| (*name).to_owned()).collect();
    Tracer::new(TraceOptions { ratio, follows_parent: true, baggage })
}

/// Sends a call to a server and returns what it was sent.
fn sent(tracer: Option<Tracer>, more: &str, params: &str) -> String {
    let entry = r#""builtin":"time""#;
    let world = World::new(&servers(&["a"], "").replace(entry, &format!("{entry}{more}")));
    world.fake("a").publish(r#"{"tools":[{"name":"x"}]}"#);
    world.fake("a").holds();
    world.gateway.observers().trace_by(tracer);
    let (exchange, _asked) = Asked::open_by(Some(Requester::local()));
    world.gateway.dispatch(call("tools/call", params), exchange);
    let (call, _held) = world.fake("a").held().pop().expect("it was sent");
    call.params.unwrap().as_str().to_owned()
}

#[tokio::test]
async fn without_traces_all_bytes_pass() {
    let meta = format!(r#"{{ "traceparent":"{PARENT_OF_ALL}", "baggage" : "a=1","tracestate":"x=y" }}"#);
    let params = format!(r#"{{"name":"a__x", "_meta":{meta},"arguments":{{}}}}"#);
    let expected = format!(r#"{{"name":"x", "_meta":{meta},"arguments":{{}}}}"#);
    assert_eq!(sent(None, "", &params), expected);
    for bad in BAD {
        let params = format!(r#"{{"name":"a__x","_meta":{{"traceparent":"{bad}"}}}}"#);
        assert_eq!(sent(None, "", &params), params.replace("a__x", "x"));
    }
}

#[tokio::test]
async fn a_server_is_told_our_span_and_the_state() {
    let params = format!(
        r#"{{"name":"a__x","_meta":{{"k":1,"traceparent":"{PARENT_OF_ALL}","tracestate":"x=y","baggage":"a=1"}}}}"#
    );
    let told = sent(Some(tracer(0.0, &[])), "", &params);
    let start = r#"{"name":"x","_meta":{"k":1,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-"#;
    assert!(told.starts_with(start) && told.ends_with(r#"-01","tracestate":"x=y"}}"#), "{told}");
    assert!(!told.contains("b7ad6b7169203331"), "the span is ours: {told}");
    let with = sent(Some(tracer(0.0, &["b", "c"])), "", &params.replace("a=1", "a=1, b=2;p,c = 3"));
    assert!(with.contains(r#""baggage":" b=2;p,c = 3""#), "{with}");
}

#[tokio::test]
async fn a_server_that_is_not_told_gets_what_the_client_wrote() {
    let params = format!(r#"{{"name":"a__x","_meta":{{"traceparent":"{PARENT_OF_ALL}"}}}}"#);
    assert_eq!(sent(Some(tracer(1.0, &[])), r#","trace":false"#, &params), params.replace("a__x", "x"));
    assert_eq!(sent(Some(tracer(1.0, &[])), r#","trace":false"#, r#"{"name":"a__x"}"#), r#"{"name":"x"}"#);
}

#[tokio::test]
async fn what_is_no_context_begins_a_new_trace() {
    for bad in BAD {
        let params = format!(r#"{{"name":"a__x","_meta":{{"traceparent":"{bad}","tracestate":"x=y"}}}}"#);
        let told = sent(Some(tracer(0.0, &[])), "", &params);
        let parent = Raw::parse(told.clone()).unwrap().path(&["_meta", "traceparent"]).unwrap();
        let parent = SpanContext::parse(&parent.to_text().unwrap()).expect(&told);
        assert!(!parent.sampled);
        assert!(!told.contains("tracestate"), "a state without its parent is nobody's: {told}");
    }
    for odd in ["7", "null", "[]", r#"{"a":1}"#] {
        let params = format!(r#"{{"name":"a__x","_meta":{{"traceparent":{odd}}}}}"#);
        assert!(sent(Some(tracer(0.0, &[])), "", &params).contains(r#""traceparent":"00-"#), "{odd}");
        let params = format!(r#"{{"name":"a__x","_meta":{odd}}}"#);
        sent(Some(tracer(0.0, &[])), "", &params);
    }
}

#[test]
fn the_part_that_is_kept_is_about_what_was_asked_for() {
    let kept = |ratio: f64| {
        let tracer = tracer(ratio, &[]);
        let begun = (0..10_000).map(|_| tracer.begin(&mut Call::new(Method::Ping, None)));
        begun.filter(|trace| trace.sampled).count()
    };
    assert_eq!((kept(0.0), kept(1.0)), (0, 10_000));
    let tenth = kept(0.1);
    assert!((700..1300).contains(&tenth), "{tenth}");
}

#[test]
fn the_word_of_the_parent_counts() {
    let begin = |ratio, text: &str| {
        let params = format!(r#"{{"_meta":{{"traceparent":"{text}"}}}}"#);
        tracer(ratio, &[]).begin(&mut Call::new(Method::Ping, Some(Raw::parse(params).unwrap())))
    };
    assert!(begin(0.0, PARENT_OF_ALL).sampled);
    assert!(!begin(1.0, &PARENT_OF_ALL.replace("-01", "-00")).sampled);
    assert_eq!(begin(1.0, PARENT_OF_ALL).id(), "0af7651916cd43dd8448eb211c80319c");
}

#[test]
fn the_context_of_the_transport_is_the_parent_or_a_link() {
    let other = "00-11111111111111111111111111111111-2222222222222222-01";
    let begin = |params: Option<&str>| {
        let params = params.map(|params| Raw::parse(params.to_owned()).unwrap());
        let mut call = Call::new(Method::Ping, add_transport(params, other, None));
        (tracer(1.0, &[]).begin(&mut call), call.params.unwrap())
    };
    let (alone, _) = begin(None);
    assert_eq!((alone.parent, alone.link), (Some([0x22; 8]), None));
    let meta = format!(r#"{{"_meta":{{"traceparent":"{PARENT_OF_ALL}"}}}}"#);
    let (both, params) = begin(Some(&meta));
    assert_eq!(both.id(), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(both.link.map(|link| link.span), Some([0x22; 8]));
    assert_eq!(params.as_str(), meta, "what is for us alone goes no further");
    let untouched = Raw::parse(meta).unwrap();
    assert_eq!(add_transport(Some(untouched.clone()), "junk", None), Some(untouched));
}

#[test]
fn ids_are_all_different() {
    let ids = Ids::default();
    let drawn: std::collections::HashSet<u64> = (0..10_000).map(|_| ids.next()).collect();
    assert_eq!(drawn.len(), 10_000);
}
