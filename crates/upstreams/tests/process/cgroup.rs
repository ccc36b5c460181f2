//! L15: servers in cgroups of their own. Where none can be made, the tests say so and pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use manifold_upstreams::process::{ExitStatusInfo, ProcessHost, StopGrace, own_all_orphans, stop};

use super::orphans::TRAITOR;
use super::proc_files::{alive, children_of, sleepers};
use super::{NASTY_SLEEPERS, eventually, none_left, shell, start_host, start_nasty, token};

/// Kills the gateway as well, and first has everybody stand still, so that nobody clears up in between.
const ASSASSIN: &str = r#"
    env -i setsid sh -c '(sleep $0 &)' $0
    guard=$(cut -d' ' -f4 /proc/$PPID/stat); gateway=$(cut -d' ' -f4 /proc/$guard/stat)
    kill -STOP $gateway $guard $PPID; kill -KILL $gateway; kill -KILL $guard; kill -KILL $PPID; sleep 60
"#;

pub(super) async fn l15_a_server_and_all_it_starts_is_in_a_cgroup() {
    let Some(place) = place() else { return };
    let (host, _owner) = start_host();
    let (one, one_token) = start_nasty(&host).await;
    let (other, other_token) = start_nasty(&host).await;
    let group_of = |token: &str| {
        let mut groups: Vec<PathBuf> = alive(token).into_iter().filter_map(cgroup_of).collect();
        assert!(groups.len() >= NASTY_SLEEPERS);
        groups.dedup();
        assert_eq!(groups.len(), 1, "{groups:?}");
        groups.remove(0)
    };
    let (first, second) = (group_of(&one_token), group_of(&other_token));
    assert_ne!(first, second);
    assert_eq!(folders_of(&place, std::process::id()).len(), 2);
    assert_eq!(cgroup_of(std::process::id()).unwrap(), first.parent().unwrap(), "we stay where we were");

    assert_eq!(one.control.sweep().await, ExitStatusInfo::Signal(9));
    assert_eq!(alive(&one_token), [0; 0]);
    eventually("its folder is gone", || folders_of(&place, std::process::id()).len() == 1).await;
    assert_eq!(sleepers(&other_token), NASTY_SLEEPERS);
    drop(other);
    eventually("no folder is left", || folders_of(&place, std::process::id()).is_empty()).await;
    assert!(host.spawn(super::command("no-such-program", &[])).await.is_err());
    let polite = host.spawn(shell("read line; exit 3", "")).await.unwrap();
    assert_eq!(stop(polite, StopGrace::default()).await, ExitStatusInfo::Code(3));
    eventually("nor one of who never ran", || folders_of(&place, std::process::id()).is_empty()).await;
}

/// A gateway that has other children cannot take what falls to it for a server's.
pub(super) async fn l15_what_no_mark_tells_is_ended_by_its_cgroup() {
    let Some(place) = place() else { return };
    let others = Other::start("sleep", &["1000"]);
    own_all_orphans();
    let (host, _owner) = start_host();
    let token = token();
    let server = host.spawn(shell(TRAITOR, &token)).await.unwrap();
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Lost);
    none_left(&token).await;
    eventually("no zombies are left", || children_of(std::process::id()) == [others.0.id()]).await;
    eventually("no folder is left", || folders_of(&place, std::process::id()).is_empty()).await;

    // As it goes as well.
    let _server = host.spawn(shell(TRAITOR, &token)).await.unwrap();
    host.finish().await;
    none_left(&token).await;
    assert!(folders_of(&place, std::process::id()).is_empty());
    assert_eq!(children_of(std::process::id()), [others.0.id()], "and nothing else was killed");
}

/// Who kills the gateway as well is nobody's; the next gateway in the same cgroup finds him there.
pub(super) async fn l15_what_a_killed_gateway_left_is_ended_by_the_next() {
    let Some(place) = place() else { return };
    let (mine, bystander) = (token(), token());
    let ourselves = std::env::current_exe().unwrap();
    let gateway = |mode, token: &str| Other::start(ourselves.to_str().unwrap(), &[mode, token]);
    let mut living = gateway("gateway", &bystander);
    eventually("a gateway's servers run", || sleepers(&bystander) == 3 * NASTY_SLEEPERS).await;
    let mut doomed = gateway("doomed", &mine);
    doomed.0.wait().unwrap();
    eventually("only the survivor is left", || alive(&mine).len() == 1).await;
    assert_eq!(folders_of(&place, doomed.0.id()).len(), 1);

    let (host, _owner) = start_host();
    let server = host.spawn(shell("read line", "")).await.unwrap();
    none_left(&mine).await;
    eventually("its folder is gone", || folders_of(&place, doomed.0.id()).is_empty()).await;
    assert_eq!(server.exit.try_get(), None);
    assert_eq!(sleepers(&bystander), 3 * NASTY_SLEEPERS, "who has a gateway is left alone");
    living.0.kill().unwrap();
    living.0.wait().unwrap();
    none_left(&bystander).await;
    host.finish().await;
    // Of this one only empty folders are left, for the next.
    let (host, _owner) = start_host();
    let _server = host.spawn(shell("read line", "")).await.unwrap();
    eventually("its folders are gone", || folders_of(&place, living.0.id()).is_empty()).await;
    host.finish().await;
}

/// The gateway of [`ASSASSIN`].
pub(super) async fn doomed(token: &str) {
    let (host, owner) = ProcessHost::new();
    let server = async {
        let _server = host.spawn(shell(ASSASSIN, token)).await.unwrap();
        std::future::pending::<()>().await;
    };
    tokio::join!(owner, server);
}

pub(super) async fn l15_all_works_without_cgroups() {
    let folder = tempfile::tempdir().unwrap();
    // None; a folder that is no cgroup, so that no server gets into it; one in which none can be made.
    for place in [None, Some(folder.path().to_owned()), Some(PathBuf::from("/proc"))] {
        let (host, owner) = ProcessHost::with_cgroups_in(place);
        let _owner = tokio::runtime::Handle::current().spawn(owner);
        let (server, token) = start_nasty(&host).await;
        assert_eq!(cgroup_of(server.pid), cgroup_of(std::process::id()));
        assert_eq!(server.control.sweep().await, ExitStatusInfo::Signal(9));
        assert_eq!(alive(&token), [0; 0]);
        host.finish().await;
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// A process of the test, which goes with it and holds none of its pipes.
struct Other(Child);

impl Other {
    fn start(program: &str, args: &[&str]) -> Self {
        Self(Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the folder of our own cgroup, if others can be made in it.
fn place() -> Option<PathBuf> {
    let place = own_folder().ok_or_else(|| "there is no cgroup v2".to_owned()).and_then(|place| {
        let probe = place.join(format!("manifold-test-{}", std::process::id()));
        let made = fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe));
        made.map_err(|error| format!("none can be made in {}: {error}", place.display())).map(|()| place)
    });
    place.inspect_err(|why| println!("skipped, no cgroups: {why}")).ok()
}

fn own_folder() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?.split(' ').nth(4)?;
    Some(Path::new(mount).join(cgroup_of(std::process::id())?.strip_prefix("/").ok()?))
}

fn cgroup_of(pid: u32) -> Option<PathBuf> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    groups.lines().find_map(|line| line.strip_prefix("0::")).map(PathBuf::from)
}

/// Returns the folders that a gateway has made and not removed.
fn folders_of(place: &Path, gateway: u32) -> Vec<PathBuf> {
    let prefix = format!("manifold-{gateway}-");
    let all = fs::read_dir(place).unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
        .collect()
}
