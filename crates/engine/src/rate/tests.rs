use manifold_config::{RateRule, RateScope};
use proptest::prelude::*;
use tokio::time::advance;

use super::*;

fn ask_for(limit: u32, seconds: u64) -> RateAsk {
    RateAsk {
        per: RateScope::Tool,
        key: format!("{limit}/{seconds}"),
        limit,
        window: Duration::from_secs(seconds),
    }
}

fn waits(verdict: RateVerdict) -> Option<Duration> {
    match verdict {
        RateVerdict::Allowed => None,
        RateVerdict::Limited { retry_after, .. } => Some(retry_after),
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_as_the_limit_come_at_once_and_then_one_by_one() {
    let rates = LocalRates::default();
    let asks = [ask_for(3, 30)];
    for _ in 0..3 {
        assert_eq!(rates.take(&asks), RateVerdict::Allowed);
    }
    assert_eq!(waits(rates.take(&asks)), Some(Duration::from_secs(10)));
    advance(Duration::from_secs(9)).await;
    assert_eq!(waits(rates.take(&asks)), Some(Duration::from_secs(1)), "asking in vain costs nothing");
    advance(Duration::from_secs(1)).await;
    assert_eq!(rates.take(&asks), RateVerdict::Allowed);
    assert_eq!(waits(rates.take(&asks)), Some(Duration::from_secs(10)));
    advance(Duration::from_secs(3600)).await;
    let allowed = (0..10).filter(|_| rates.take(&asks) == RateVerdict::Allowed).count();
    assert_eq!(allowed, 3, "who has rested has the limit again, and no more");
}

#[tokio::test(start_paused = true)]
async fn a_call_over_one_rule_is_charged_to_none() {
    let rates = LocalRates::default();
    let both = [ask_for(5, 10), ask_for(1, 10)];
    assert_eq!(rates.take(&both), RateVerdict::Allowed);
    for _ in 0..10 {
        assert!(matches!(rates.take(&both), RateVerdict::Limited { ask, .. } if ask.limit == 1));
    }
    let alone = (0..10).filter(|_| rates.take(&both[..1]) == RateVerdict::Allowed).count();
    assert_eq!(alone, 4);
}

#[tokio::test(start_paused = true)]
async fn a_minute_of_hammering_lets_through_the_limit_and_its_rate() {
    let rates = LocalRates::default();
    let asks = [ask_for(60, 60)];
    let mut allowed = 0;
    for _ in 0..600 {
        allowed += usize::from(rates.take(&asks) == RateVerdict::Allowed);
        advance(Duration::from_millis(100)).await;
    }
    // Sixty at once, and one for each of the seconds 1 to 59.
    assert_eq!(allowed, 119);
}

#[tokio::test(start_paused = true)]
async fn keys_past_the_bound_share_one() {
    let rates = LocalRates::default();
    let one = |key: usize| RateAsk { key: key.to_string(), ..ask_for(1, 60) };
    for key in 0..MAX_KEYS + 10 {
        rates.take(&[one(key)]);
    }
    assert!(rates.due.lock().unwrap().len() <= MAX_KEYS + 1);
    assert!(waits(rates.take(&[one(MAX_KEYS + 99)])).is_some());
    advance(Duration::from_secs(60)).await;
    assert_eq!(rates.take(&[one(MAX_KEYS + 99)]), RateVerdict::Allowed);
    assert!(rates.due.lock().unwrap().len() < 10, "those whose time has come are forgotten");
}

#[test]
fn a_rule_counts_what_it_names() {
    let rule = |per, pattern: Option<&str>| RateRule {
        per,
        pattern: pattern.map(str::to_owned),
        limit: 5,
        window: Duration::from_secs(60),
    };
    let key = |rule: &RateRule, target: Option<(&str, Option<&str>)>| {
        let targets = target.map(|(server, tool)| (server.to_owned(), tool.map(str::to_owned)));
        let targets: Vec<_> = targets.into_iter().collect();
        let counted = Counted { who: Some(("token:ci", None)), targets: &targets };
        asks(rule, counted).pop().map(|ask| ask.key)
    };
    let tool = Some(("git", Some("log")));
    assert_eq!(key(&rule(RateScope::Principal, None), None).unwrap(), "principal:*:5/60:token:ci");
    assert_eq!(key(&rule(RateScope::Principal, Some("user:*")), None), None);
    assert_eq!(key(&rule(RateScope::Namespace, None), None).unwrap(), "namespace:*:5/60:default");
    assert_eq!(key(&rule(RateScope::Server, None), None), None);
    assert_eq!(key(&rule(RateScope::Server, Some("g?t")), tool).unwrap(), "server:g?t:5/60:git");
    assert_eq!(key(&rule(RateScope::Tool, Some("git/*")), tool).unwrap(), "tool:git/*:5/60:git/log");
    assert_eq!(key(&rule(RateScope::Tool, Some("log")), tool).unwrap(), "tool:log:5/60:git/log");
    assert_eq!(key(&rule(RateScope::Tool, Some("status")), tool), None);
    assert_eq!(key(&rule(RateScope::Tool, None), Some(("git", None))), None);
}

#[test]
fn patterns_are_whole_names() {
    for (pattern, name, expected) in [
        ("*", "", true),
        ("a*c", "abbc", true),
        ("a*c", "abcd", false),
        ("*b*", "abc", true),
        ("a?c", "ac", false),
        ("a**", "a", true),
        ("", "a", false),
        ("*ab", "aab", true),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}

proptest! {
    // In any window there are at most the limit and what becomes free in it.
    #[test]
    fn no_window_has_more_than_twice_the_limit(limit in 1_u32..20, gaps in prop::collection::vec(0_u64..2000, 1..200)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let rates = LocalRates::default();
            let asks = [ask_for(limit, 10)];
            let mut passed: Vec<Instant> = Vec::new();
            for gap in gaps {
                advance(Duration::from_millis(gap)).await;
                if rates.take(&asks) == RateVerdict::Allowed {
                    passed.push(Instant::now());
                }
            }
            for from in &passed {
                let within = passed.iter().filter(|at| *at >= from && **at < *from + asks[0].window).count();
                assert!(within <= 2 * limit as usize, "{within} of {limit}");
            }
        });
    }
}
