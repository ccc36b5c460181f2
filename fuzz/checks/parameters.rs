//! What is put on the parameters of the revision without sessions comes off again, and nothing else with it.

use bytes::Bytes;
use manifold_protocol::dialect::modern::{self, listen, rounds};
use manifold_protocol::raw::Kind;
use manifold_protocol::{Raw, scan};

pub(crate) fn check(data: &[u8]) {
    let Ok(raw) = Raw::parse(Bytes::copy_from_slice(data)) else { return };
    check_marks(&raw);
    check_returns(&raw);
    check_rounds(&raw);
    check_listening(&raw);
    check_results(&raw);
}

fn check_marks(params: &Raw) {
    let Ok((rest, caller)) = modern::open(Some(params.clone())) else { return };
    assert!(modern::version_of(Some(params)).is_some(), "opened without a version");
    let sealed = modern::seal(rest.clone(), &caller);
    check_valid(&sealed);
    let (again, same) = modern::open(Some(sealed)).expect("our own marks can be read");
    assert_eq!(again, rest);
    assert_eq!(
        (same.capabilities, same.info, same.log_level),
        (caller.capabilities.clone(), caller.info.clone(), caller.log_level.clone())
    );
    let (numbered, token) = modern::seal_numbered(rest.clone(), &caller, Some(7));
    check_valid(&numbered);
    let expected = rest.and_then(|rest| rest.path(&["_meta", "progressToken"]));
    assert_eq!(token, expected);
}

fn check_returns(params: &Raw) {
    let (rest, brought) = rounds::take_return(Some(params.clone()));
    if params.kind() != Kind::Object || brought.answers.duplicate().is_some() {
        return;
    }
    let answers: Vec<(String, Raw)> =
        brought.answers.iter().map(|(key, answer)| (key.into_owned(), answer)).collect();
    let next = rounds::with_answers(rest.clone(), &answers, brought.state.as_deref().map(Raw::string));
    check_valid(&next);
    let (again, same) = rounds::take_return(Some(next));
    assert_eq!(again, rest);
    assert_eq!(same.state, brought.state);
    assert!(same.answers.iter().eq(brought.answers.iter()), "answers changed on the way");
}

fn check_rounds(result: &Raw) {
    let Some(round) = rounds::InputRequired::read(result) else { return };
    let written = round.encode();
    check_valid(&written);
    let again = rounds::InputRequired::read(&written).expect("our own round can be read");
    let mut keys: Vec<&str> = round.questions.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((again.state, again.questions.len()), (round.state.clone(), keys.len()));
    if keys.len() == round.questions.len() {
        for ((key, call), (same_key, same)) in round.questions.iter().zip(&again.questions) {
            assert_eq!((key, &call.method, &call.params), (same_key, &same.method, &same.params));
        }
    }
}

fn check_listening(params: &Raw) {
    if let Some(filter) = listen::Filter::read(Some(params)) {
        assert_eq!(listen::Filter::read(Some(&filter.encode())), Some(filter));
    }
    let tagged = listen::tag(Some(params.clone()), Raw::number(7));
    check_valid(&tagged);
    assert_eq!(listen::tag_of(Some(&tagged)), Some(Raw::number(7)));
    let readable = params.get("_meta").is_none_or(|meta| meta.kind() == Kind::Object);
    if params.kind() == Kind::Object && readable {
        assert_eq!(listen::untag(Some(tagged)), listen::untag(Some(params.clone())));
    }
}

/// Only that nothing panics and what is written is JSON.
fn check_results(result: &Raw) {
    let _ = (
        modern::mark_of(result),
        modern::freshness_of(&result.object().unwrap_or_default()),
        modern::read_discover_result(result),
    );
    let _ = (modern::wants_only_tasks(result), modern::is_modern_error(result));
    check_valid(&modern::error(result));
    modern::tool(result).iter().for_each(check_valid);
    let declared = modern::with_tasks(result);
    check_valid(&declared);
    assert!(modern::declares_tasks(&declared));
}

fn check_valid(raw: &Raw) {
    assert!(scan::validate(raw.as_bytes()).is_ok(), "an edit broke the text: {raw}");
}
