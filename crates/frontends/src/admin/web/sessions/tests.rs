use super::super::kept::Kept;
use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn granted(sessions: &mut Sessions, scope: PageScope, now: Instant) -> String {
    sessions.grant(scope, now).unwrap()
}

fn opened(sessions: &mut Sessions, scope: PageScope, now: Instant) -> String {
    let code = granted(sessions, scope, now);
    sessions.exchange(&code, now).unwrap().0
}

/// Uses a session and leaves again.
fn is_let_in(sessions: &mut Sessions, token: &str, now: Instant) -> bool {
    let begun = sessions.begin(token, now);
    begun.inspect(|(_, id, _)| sessions.end(id, now)).is_some()
}

#[test]
fn a_code_is_good_once_and_for_a_minute() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    let code = granted(&mut sessions, PageScope::Act, now);
    assert_eq!(code.len(), 43, "256 bits");
    let late = sessions.exchange(&code, now + MINUTE).err().unwrap();
    assert_eq!((late.code, late.to_string().contains("`manifold open`")), (ErrorCode::SessionEnded, true));
    let code = granted(&mut sessions, PageScope::Act, now);
    let (token, session) = sessions.exchange(&code, now + MINUTE / 2).unwrap();
    assert_eq!((session.scope, session.id.len()), (PageScope::Act, 8));
    assert!(is_let_in(&mut sessions, &token, now));
    assert!(!is_let_in(&mut sessions, &code, now) && !is_let_in(&mut sessions, "", now));
    let twice = sessions.exchange(&code, now + MINUTE / 2).err().unwrap();
    assert!(twice.message.contains("used before"), "{twice}");
    assert!(!is_let_in(&mut sessions, &token, now), "what was made with it has ended");
}

#[test]
fn a_session_lasts_while_it_is_used() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    let token = opened(&mut sessions, PageScope::View, now);
    let mut at = now;
    for _ in 0..10 {
        at += IDLE - MINUTE;
        assert!(is_let_in(&mut sessions, &token, at));
    }
    // A stream is a use for as long as it lasts.
    let (_, id, _) = sessions.begin(&token, at).unwrap();
    at += IDLE * 100;
    assert!(is_let_in(&mut sessions, &token, at));
    sessions.end(&id, at);
    assert_eq!(sessions.next_end(), Some(at + IDLE));
    assert!(!is_let_in(&mut sessions, &token, at + IDLE));
    assert!(sessions.is_over(at + IDLE));
}

#[test]
fn who_may_edit_may_for_an_hour() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    let token = opened(&mut sessions, PageScope::Edit, now);
    let (_, _, ended) = sessions.begin(&token, now).unwrap();
    assert!(is_let_in(&mut sessions, &token, now + EDIT_LIFE - MINUTE));
    assert!(ended.has_changed().is_ok());
    assert!(!is_let_in(&mut sessions, &token, now + EDIT_LIFE));
    assert!(ended.has_changed().is_err(), "its streams hear of it");
    assert!(!sessions.is_over(now + EDIT_LIFE), "and its page, which is still there");
    assert!(sessions.is_over(now + EDIT_LIFE + IDLE));
    let token = opened(&mut sessions, PageScope::Edit, now);
    assert!(!is_let_in(&mut sessions, &token, now + IDLE), "nor longer than others where it is not used");
}

#[test]
fn no_more_pages_are_opened_than_anybody_looks_at() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    for _ in 0..MAX_CODES {
        granted(&mut sessions, PageScope::View, now);
    }
    let refused = sessions.grant(PageScope::View, now).err().unwrap();
    assert_eq!(refused.code, ErrorCode::Busy);
    assert!(sessions.grant(PageScope::View, now + CODE_LIFE).is_ok());
}

/// By what is kept the next program knows the same pages, and no secret is in it.
#[test]
fn the_next_program_knows_the_same_pages() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    let code = granted(&mut sessions, PageScope::View, now);
    let view = sessions.exchange(&code, now).unwrap().0;
    let edit = opened(&mut sessions, PageScope::Edit, now);
    let text = serde_json::to_string(&Kept::of(4711, &sessions, now).unwrap()).unwrap();
    for secret in [&code, &view, &edit] {
        assert!(!text.contains(secret.as_str()), "{text}");
    }
    let kept: Kept = serde_json::from_str(&text).unwrap();
    assert_eq!(kept.port, 4711);
    let mut next = Sessions::default();
    kept.sessions(now).into_iter().for_each(|session| next.add(session));
    assert!(is_let_in(&mut next, &view, now) && is_let_in(&mut next, &edit, now));
    assert!(!is_let_in(&mut next, &edit, now + EDIT_LIFE));
    assert!(next.exchange(&code, now).is_err());
    assert!(!is_let_in(&mut next, &view, now), "a code that was used ends its session there too");
    let mut told: serde_json::Value = serde_json::from_str(&text).unwrap();
    told["sessions"][0]["idleEndMs"] = 1.into();
    let kept: Kept = serde_json::from_value(told.clone()).unwrap();
    assert_eq!(kept.sessions(now).len(), 1, "one has ended meanwhile");
    told["boot"] = "another".into();
    let kept: Kept = serde_json::from_value(told).unwrap();
    assert!(kept.sessions(now).is_empty(), "all with the machine");
}
