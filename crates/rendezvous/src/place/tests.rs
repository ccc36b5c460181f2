#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::os::unix::fs::symlink;

use super::*;

fn identity() -> Identity {
    Identity { config: "/home/a/.config/manifold/config.json".to_owned(), profile: "manifold".to_owned() }
}

fn in_runtime(folder: &Path) -> BaseFolders {
    BaseFolders { runtime: Some(folder.to_owned()), state: None }
}

/// The names are for ever: an old shim must find a new daemon.
#[test]
fn names_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::open(&in_runtime(folder.path()), &identity()).unwrap();
    let socket = place.client_socket();
    assert_eq!(socket, folder.path().join("manifold/46013c21.mcp.sock"));
    let other = Identity { profile: "mcp-studio".to_owned(), ..identity() };
    assert_ne!(Place::open(&in_runtime(folder.path()), &other).unwrap().name(), place.name());
}

#[test]
fn without_a_runtime_folder_the_state_folder_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let gone = Some(folder.path().join("gone"));
    let base = BaseFolders { runtime: gone, state: Some(folder.path().join("state")) };
    let place = Place::open(&base, &identity()).unwrap();
    assert_eq!(place.folder(), folder.path().join("state/manifold/run"));
    assert!(matches!(Place::open(&BaseFolders::default(), &identity()), Err(PlaceError::NoFolder)));
}

// A15
#[test]
fn a_folder_that_is_a_link_is_refused_and_one_that_others_may_read_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("elsewhere");
    fs::create_dir(&target).unwrap();
    symlink(&target, folder.path().join("manifold")).unwrap();
    assert!(matches!(Place::open(&in_runtime(folder.path()), &identity()), Err(PlaceError::Unsafe { .. })));
    fs::remove_file(folder.path().join("manifold")).unwrap();
    fs::create_dir(folder.path().join("manifold")).unwrap();
    fs::set_permissions(folder.path().join("manifold"), Permissions::from_mode(0o755)).unwrap();
    let place = Place::open(&in_runtime(folder.path()), &identity()).unwrap();
    assert_eq!(place.folder().metadata().unwrap().mode() & 0o777, 0o700);
}

#[test]
fn sockets_are_their_users_alone_however_long_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a-long-name-of-a-folder".repeat(6));
    fs::create_dir(&deep).unwrap();
    for runtime in [folder.path(), &deep] {
        let place = Place::open(&in_runtime(runtime), &identity()).unwrap();
        let listener = place.listen(&place.client_socket()).unwrap();
        assert_eq!(place.client_socket().metadata().unwrap().mode() & 0o777, 0o600);
        let theirs = place.reach(&place.client_socket()).unwrap().unwrap();
        let (ours, _) = listener.accept().unwrap();
        assert!(is_our_user(&ours) && is_our_user(&theirs));
        assert_eq!(peer_pid(&ours), Some(std::process::id()));
        // A second one takes the place of what a dead daemon left.
        drop(listener);
        place.listen(&place.client_socket()).unwrap();
        place.clear();
        assert!(!place.client_socket().exists());
        assert!(place.reach(&place.client_socket()).unwrap().is_none());
    }
}
