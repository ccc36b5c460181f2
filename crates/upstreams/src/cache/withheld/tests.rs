use manifold_engine::Item;

use super::*;
use crate::cache::{Cache, now};
use crate::fake::{raw, server};

const ALL: &str = r#"{"sampling":{},"roots":{"listChanged":true}}"#;
const DAY: u64 = TRUSTED_FOR.as_secs();

fn listing(tools: &[&str]) -> Arc<Listing> {
    let item = |name: &&str| Item { label: (*name).to_owned(), raw: raw(&format!(r#"{{"name":"{name}"}}"#)) };
    Arc::new(Listing { tools: tools.iter().map(item).collect(), ..Listing::default() })
}

/// Says what of the tools is not for a client with these capabilities.
fn missing(others: &Others, server: &Arc<Server>, capabilities: &str) -> Vec<String> {
    let withheld = others.withheld(server, now() + 10 * DAY);
    let missing = withheld.and_then(|withheld| withheld.withheld_from(&raw(capabilities)));
    let mut names: Vec<String> = missing.map(|missing| missing[0].clone()).into_iter().flatten().collect();
    names.sort_unstable();
    names
}

// D5
#[test]
fn what_a_server_did_not_offer_a_clients_own_set_is_not_for_it() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    let one = server("");
    let told = |era, capabilities: &str| ListingKey::of(&one, era, &raw(capabilities));
    let all = told(Era::Legacy, ALL);
    cache.note_listing_for(&one, told(Era::Legacy, "{}"), &listing(&["echo", "own"]));
    cache.note_listing_for(&one, told(Era::Legacy, r#"{"sampling":{}}"#), &listing(&["echo", "sample"]));
    cache.note_listing_for(&one, told(Era::Modern, r#"{"roots":{}}"#), &listing(&[]));
    cache.note_listing_for(&one, all.clone(), &listing(&["echo"]));
    let mut others = Others::default();
    let lists = cache.lists(&one);
    let saved = lists.as_ref().and_then(|lists| lists.told(&one, &raw(ALL))).map(Arc::new);
    others.recall(all.clone(), Era::Legacy, lists.as_ref(), saved.as_ref());
    assert!(others.withheld(&one, now()).is_none(), "all of the saved list is for all");

    others.read(&all, Era::Legacy, &listing(&["echo", "sample"]), now());
    assert!(missing(&others, &one, "{}").is_empty(), "it is new: the other reading cannot know it");

    let mut others = Others::default();
    others.remember(|| panic!("nothing is listed yet"));
    others.read(&all, Era::Legacy, &listing(&["echo", "sample"]), now());
    others.remember(|| cache.lists(&one));
    others.remember(|| panic!("it is read once"));
    assert_eq!(missing(&others, &one, "{}"), ["sample"]);
    assert!(missing(&others, &one, r#"{"sampling":{}}"#).is_empty());
    assert!(missing(&others, &one, ALL).is_empty());
    assert!(missing(&others, &one, r#"{"elicitation":{}}"#).is_empty(), "a set never met sees everything");
    assert!(
        missing(&others, &one, r#"{"roots":{}}"#).is_empty(),
        "what was told in another era tells nothing"
    );

    cache.note_listing_for(&one, told(Era::Legacy, "{}"), &listing(&["echo", "sample"]));
    assert_eq!(missing(&others, &one, "{}"), ["sample"], "kept until it is said to have changed");
    others.forget();
    others.remember(|| cache.lists(&one));
    assert!(missing(&others, &one, "{}").is_empty());
}

// D5: in doubt it is shown
#[test]
fn what_was_read_long_before_or_joined_since_is_for_everybody() {
    let one = server("");
    let told = |capabilities: &str| ListingKey::of(&one, Era::Legacy, &raw(capabilities));
    let at = now();
    let with = |offered_at: u64| Others {
        of_all: None,
        offered: Some(vec![Offered {
            told: told("{}"),
            at: offered_at,
            labels: [HashSet::from(["echo".to_owned()]), HashSet::new(), HashSet::new(), HashSet::new()],
        }]),
    };
    let read = |others: &mut Others, tools: &[&str], at| {
        let kept = others.offered.take();
        others.read(&told(ALL), Era::Legacy, &listing(tools), at);
        others.offered = kept;
    };
    for (offered_at, expected) in
        [(at, 1), (at - DAY, 1), (at - DAY - 1, 0), (at + DAY, 1), (at + 11 * DAY, 0)]
    {
        let mut others = with(offered_at);
        read(&mut others, &["echo", "sample"], at);
        assert_eq!(missing(&others, &one, "{}").len(), expected, "{offered_at} and {at}");
    }
    let mut others = with(at + 5);
    read(&mut others, &["echo", "sample"], at);
    assert!(others.withheld(&one, at).is_none(), "a date in the future is no date");
    read(&mut others, &["echo", "sample", "early"], at + 2);
    read(&mut others, &["echo", "sample", "early", "late"], at + 7);
    read(&mut others, &["echo", "sample", "early", "late"], at + 8);
    assert_eq!(missing(&others, &one, "{}"), ["early", "sample"]);
    read(&mut others, &["echo", "late"], at + 9);
    assert!(missing(&others, &one, "{}").is_empty());
    read(&mut others, &["echo", "sample"], at + 10);
    assert!(missing(&others, &one, "{}").is_empty(), "it was gone and came back");
}
