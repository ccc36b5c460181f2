use super::*;

/// Returns what is done before each look, where each brings so many messages.
fn looks(gathering: &mut Gathering, brought: usize, in_flight: usize, count: usize) -> Vec<Before> {
    (0..count).map(|_| gathering.before_next(brought, in_flight)).collect()
}

#[test]
fn nothing_is_waited_for_where_little_is_under_way() {
    let mut gathering = Gathering::default();
    assert_eq!(looks(&mut gathering, 1, 1, 3), [Before::Nothing; 3]);
    assert_eq!(looks(&mut gathering, 1, BUSY, 3), [Before::Yield; 3]);
    assert_eq!(looks(&mut gathering, 1, MANY - 1, 3), [Before::Yield; 3]);
}

#[test]
fn a_moment_is_waited_for_as_long_as_it_brings_something() {
    let mut gathering = Gathering::default();
    assert_eq!(looks(&mut gathering, 10, 32, 100), [Before::Wait; 100]);
    // All at once: they come so by themselves.
    assert_eq!(looks(&mut gathering, 32, 32, 3), [Before::Yield; 3]);
}

/// Many calls that take long, and one after another beside them that do not.
#[test]
fn those_who_wait_for_one_another_are_hardly_held_up() {
    let mut gathering = Gathering::default();
    let done = looks(&mut gathering, 1, 40, 1000);
    let waited = done.iter().filter(|before| **before == Before::Wait).count();
    assert!((1..=21).contains(&waited), "{waited}");
    // Once more comes together it is soon worth it again.
    let done = looks(&mut gathering, 10, 40, 100);
    assert_eq!(done.last(), Some(&Before::Wait));
}
