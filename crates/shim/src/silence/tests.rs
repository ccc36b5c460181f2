use std::os::unix::net::UnixListener;

use manifold_rendezvous::{BaseFolders, Identity};

use super::*;

const BOUND: Duration = Duration::from_secs(10);

struct Daemon {
    _folder: tempfile::TempDir,
    place: Place,
    listener: Option<UnixListener>,
}

fn daemon() -> Daemon {
    let folder = tempfile::tempdir().unwrap();
    let base = BaseFolders { runtime: None, state: Some(folder.path().to_owned()) };
    let identity = Identity { config: "c".to_owned(), profile: "manifold".to_owned() };
    let place = Place::open(&base, &identity).unwrap();
    let listener = Some(place.listen(&place.client_socket()).unwrap());
    Daemon { _folder: folder, place, listener }
}

#[test]
fn nobody_is_asked_while_nobody_waits_or_too_soon() {
    let mut silence = Silence::new(BOUND);
    let start = Instant::now();
    assert_eq!(silence.judge(false, start), Verdict::Wait(None));
    // It is counted from when somebody began to wait.
    let later = start + BOUND * 7;
    assert_eq!(silence.judge(true, later), Verdict::Wait(Some(later + BOUND)));
    assert_eq!(silence.judge(true, later + BOUND / 2), Verdict::Wait(Some(later + BOUND)));
    silence.broken();
    let now = later + BOUND;
    assert_eq!(silence.judge(true, now), Verdict::Wait(Some(now + BOUND)));
    assert_eq!(silence.judge(true, now + BOUND), Verdict::Ask);
    assert_eq!(silence.judge(false, now + BOUND), Verdict::Wait(None));
}

#[test]
fn one_that_hangs_up_lives_and_one_that_does_not_is_frozen() {
    let daemon = daemon();
    let mut silence = Silence::new(BOUND);
    let start = Instant::now();
    silence.judge(true, start);
    let asked = start + BOUND;
    assert_eq!(silence.judge(true, asked), Verdict::Ask);
    silence.ask(&daemon.place, asked);
    assert!(silence.knocked().is_some());
    silence.answered();
    assert_eq!(silence.judge(true, asked), Verdict::Wait(Some(asked + BOUND)), "nothing was answered");
    drop(daemon.listener.as_ref().unwrap().accept().unwrap());
    silence.answered();
    assert_eq!(silence.judge(true, asked), Verdict::Wait(Some(asked + BOUND)));
    let again = asked + BOUND;
    assert_eq!(silence.judge(true, again), Verdict::Ask);
    silence.ask(&daemon.place, again);
    assert_eq!(silence.judge(true, again + BOUND), Verdict::Frozen);
}

#[test]
fn where_nobody_listens_nothing_is_concluded() {
    let mut daemon = daemon();
    daemon.listener = None;
    let mut silence = Silence::new(BOUND);
    let start = Instant::now();
    silence.judge(true, start);
    silence.ask(&daemon.place, start + BOUND);
    assert!(silence.knocked().is_none());
    let now = start + BOUND;
    assert_eq!(silence.judge(true, now), Verdict::Wait(Some(now + BOUND)));
}

/// A frozen one accepts nobody, and its queue fills up.
#[test]
fn a_queue_without_room_is_no_answer() {
    let daemon = daemon();
    nix::sys::socket::listen(daemon.listener.as_ref().unwrap(), nix::sys::socket::Backlog::new(0).unwrap())
        .unwrap();
    let mut waiting = Vec::new();
    while let Ok(socket) = daemon.place.reach_at_once(&daemon.place.client_socket()) {
        waiting.push(socket);
    }
    let mut silence = Silence::new(BOUND);
    let start = Instant::now();
    silence.judge(true, start);
    silence.ask(&daemon.place, start + BOUND);
    silence.answered();
    assert_eq!(silence.judge(true, start + BOUND * 2), Verdict::Frozen);
}
