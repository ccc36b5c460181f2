//! Names and folders. What real cgroups do is in `tests/process.rs`.

use super::*;

#[test]
fn our_own_cgroup_is_found_where_it_is_mounted() {
    let own = "4:memory:/other\n0::/user.slice/app.scope\n";
    let found = |mounts: &str| place::own_folder(own, mounts);
    let whole = "25 1 0:22 / /sys rw - sysfs sysfs rw\n30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
    assert_eq!(found(whole), Some("/sys/fs/cgroup/user.slice/app.scope".into()));
    let hybrid = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n";
    assert_eq!(found(hybrid), Some("/sys/fs/cgroup/unified/user.slice/app.scope".into()));
    let part = "30 25 0:26 /user.slice /groups rw - cgroup2 cgroup2 rw\n";
    assert_eq!(found(part), Some("/groups/app.scope".into()));

    let elsewhere = "30 25 0:26 /system.slice /groups rw - cgroup2 cgroup2 rw\n";
    assert_eq!(found(elsewhere), None, "what is mounted does not hold ours");
    assert_eq!(found("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"), None, "only v1");
    assert_eq!(place::own_folder("0::/../above\n", whole), None, "outside of our namespace");
    assert_eq!(place::own_folder("1:cpu:/\n", whole), None);
}

#[test]
fn only_names_of_ours_are_read() {
    let name = Name::ours(7).unwrap();
    assert_eq!(name.to_string().parse(), Ok(name));
    for other in
        ["manifold", "manifold-1-2", "manifold-1-2-3-4", "manifold-01-2-3", "manifold-+1-2-3", "x-1-2-3"]
    {
        assert_eq!(other.parse::<Name>(), Err(()), "{other}");
    }
}

// L15: what a killed gateway left is cleared away, and nothing else
#[tokio::test]
async fn only_what_nobody_looks_after_is_stale() {
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str| place.path().join(name);
    let ours = Name::ours(1_000_000).unwrap().to_string();
    // The first process of all lives, but began at another time than this.
    let (dead, reused, locked) =
        ("manifold-4194305-5-0", "manifold-1-18446744073709551615-0", "manifold-4194306-5-0");
    for name in [dead, reused, locked, &ours, "manifold-x", "other"] {
        fs::create_dir(folder(name)).unwrap();
    }
    fs::create_dir(folder(dead).join("below")).unwrap();
    let held = File::open(folder(locked)).unwrap();
    held.lock_shared().unwrap();

    let cgroups = Cgroups::at(Some(place.path().into()));
    cgroups.look_for_stale();
    cgroups.0.remove_leaving();
    let mut left: Vec<String> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    let mut wanted = vec![locked.to_owned(), ours, "manifold-x".into(), "other".into()];
    wanted.sort();
    assert_eq!(left, wanted);
}

#[tokio::test(start_paused = true)]
async fn a_folder_goes_with_its_server() {
    let place = tempfile::tempdir().unwrap();
    let count = || fs::read_dir(place.path()).unwrap().count();
    let cgroups = Cgroups::at(Some(place.path().into()));
    let (one, other) = (cgroups.make().unwrap(), cgroups.make().unwrap());
    assert_eq!(count(), 2);
    drop(one);
    assert_eq!(count(), 2, "whoever drops it does not wait for its removal");
    let _ = tokio::time::timeout(QUIET * 3, cgroups.tend()).await;
    assert_eq!(count(), 1);
    other.leave();
    other.leave();
    cgroups.clear().await;
    assert_eq!(count(), 0);
    drop(other);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_cannot_be_removed_is_given_up() {
    let place = tempfile::tempdir().unwrap();
    let cgroups = Cgroups::at(Some(place.path().into()));
    let made = cgroups.make().unwrap();
    fs::write(place.path().join(made.name.to_string()).join("stuck"), "").unwrap();
    drop(made);
    let _ = tokio::time::timeout(PATIENCE * 2, cgroups.tend()).await;
    assert!(cgroups.0.list().entries.is_empty());
}

#[tokio::test]
async fn where_none_can_be_made_there_is_none() {
    let place = tempfile::tempdir().unwrap();
    for cgroups in [Cgroups::at(None), Cgroups::at(Some(place.path().join("missing")))] {
        assert!(cgroups.make().is_none() && cgroups.make().is_none());
        cgroups.kill_all().await;
    }
}
