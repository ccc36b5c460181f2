#![allow(clippy::unwrap_used, reason = "this is a test")]

use super::*;

#[test]
fn both_ends_see_the_same_page_and_it_outlives_either() {
    let (ours, memory) = Stages::new().unwrap();
    let theirs = Stages::open(&memory).unwrap();
    assert_eq!(ours.get(9), Stage::Sent);
    theirs.set(9, Stage::Dispatched);
    theirs.set(u16::MAX, Stage::Received);
    drop(theirs);
    assert_eq!(
        (ours.get(9), ours.get(u16::MAX), ours.get(0)),
        (Stage::Dispatched, Stage::Received, Stage::Sent)
    );
}

#[test]
fn a_page_that_could_shrink_is_not_taken() {
    let memory = memfd_create(c"other", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING).unwrap();
    ftruncate(&memory, SLOTS as i64).unwrap();
    assert!(Stages::open(&memory).is_err());
}
