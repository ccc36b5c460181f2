//! Server processes and their ends. The F-numbers are those of the fault list.
//!
//! Without the usual harness, since this binary has to be its own guard: `main` decides which of the three it is, a
//! guard, a gateway to be killed, or the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "this is a test")]

#[path = "process/cgroup.rs"]
mod cgroup;

use std::ffi::OsString;
use std::fs;
use std::future::pending;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use manifold_testkit::figures;
use manifold_upstreams::process::{
    Excess, ExitStatusInfo, Limits, ProcessHost, ServerProcess, SpawnCommand, SpawnError, StopGrace,
    guard_main_if_asked, own_all_orphans, stop,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

/// Starts six sleepers, five of which leave its group, its session, its ancestry or its environment, and stays.
const NASTY: &str = r#"
    sleep $0 &
    setsid sleep $0 &
    (setsid sh -c 'sleep $0 & sleep 0' $0 &)
    env -i /bin/sh -c 'exec setsid /bin/sh -c "(sleep $0 &)"' $0
    python3 -c 'import os,sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})' $0
    exec sleep $0
"#;
const NASTY_SLEEPERS: usize = 6;

/// Ignores the end of its input and SIGTERM.
const STUBBORN: &str = "trap '' TERM HUP INT; echo ready; while :; do sleep $0; done";

fn main() {
    guard_main_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("gateway") => Runtime::new().unwrap().block_on(gateway(&args[1])),
        Some("doomed") => Runtime::new().unwrap().block_on(cgroup::doomed(&args[1])),
        Some("measure") => Runtime::new().unwrap().block_on(measure()),
        _ => run_tests(&args),
    }
}

macro_rules! tests {
    ($($name:path),* $(,)?) => {
        [$((stringify!($name), (|| Runtime::new().unwrap().block_on($name())) as fn())),*]
    };
}

fn run_tests(args: &[String]) {
    let all = tests![
        talks_and_tells_its_exit_code,
        says_why_a_program_cannot_run,
        a_program_that_does_not_say_how_it_is_run_is_a_script,
        passes_directory_arguments_and_environment,
        passes_a_large_environment,
        starts_with_clean_signals_and_descriptors,
        tells_the_signal_that_killed_it,
        f18_a_hog_is_ended,
        f18_a_server_that_multiplies_is_ended,
        f17_sweep_leaves_nothing,
        f17_crash_leaves_nothing,
        f17_drop_leaves_nothing,
        f17_a_hundred_cycles_leave_nothing,
        f17_a_process_that_never_stands_still_is_caught,
        f17_others_are_untouched,
        f16_stop_lets_a_polite_server_finish,
        f16_stop_sends_term_to_the_group,
        f16_stubborn_server_is_gone_within_grace,
        f16_no_zombies,
        f28_killed_gateway_leaves_nothing,
        f28_killed_by_name_leaves_nothing,
        killed_guard_ends_servers_and_is_replaced,
        killed_keeper_ends_its_server_only,
        guard_ends_with_the_host,
        fifty_spawns_at_once,
        guard_and_keepers_are_small,
        the_gateway_can_be_its_own_guard,
        l15_what_no_mark_tells_falls_to_us,
        l15_children_of_others_are_left_alone,
        cgroup::l15_a_server_and_all_it_starts_is_in_a_cgroup,
        cgroup::l15_what_no_mark_tells_is_ended_by_its_cgroup,
        cgroup::l15_what_a_killed_gateway_left_is_ended_by_the_next,
        cgroup::l15_all_works_without_cgroups,
    ];
    if let [one, wanted] = args
        && one == "one"
    {
        return all.iter().filter(|(name, _)| name == wanted).for_each(|(_, test)| test());
    }
    let filters: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let chosen =
        all.iter().filter(|(name, _)| filters.is_empty() || filters.iter().any(|f| name.contains(*f)));
    if args.iter().any(|arg| arg == "--list") {
        chosen.for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let (mut passed, mut failed) = (0, 0);
    for (name, _) in chosen {
        let started = Instant::now();
        // Each in a process of its own: a host makes its process adopt orphans, which would be another test's.
        let run = Command::new(std::env::current_exe().unwrap()).args(["one", name]).status().unwrap();
        let ok = run.success();
        println!(
            "test {name} ... {} ({} ms)",
            if ok { "ok" } else { "FAILED" },
            started.elapsed().as_millis()
        );
        *if ok { &mut passed } else { &mut failed } += 1;
    }
    println!("\ntest result: {passed} passed; {failed} failed");
    if failed > 0 {
        std::process::exit(101);
    }
}

async fn talks_and_tells_its_exit_code() {
    let (host, _owner) = start_host();
    let mut server = host.spawn(shell("read line; echo got $line; echo oh >&2; exit 7", "")).await.unwrap();
    server.stdin.write_all(b"hello\n").await.unwrap();
    assert_eq!(read_all(&mut server.stdout).await, b"got hello\n");
    assert_eq!(read_all(&mut server.stderr).await, b"oh\n");
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Code(7));
    assert_eq!(server.exit.clone().try_get(), Some(ExitStatusInfo::Code(7)));
}

async fn says_why_a_program_cannot_run() {
    let (host, _owner) = start_host();
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let plain = directory.path().join("plain");
    fs::write(&plain, "").unwrap();

    let error = host.spawn(command("no-such-program", &[])).await.unwrap_err();
    assert_eq!(error.to_string(), "no such program `no-such-program`; is it installed and on PATH?");
    assert!(matches!(error, SpawnError::NotFound { .. }));
    let error = host.spawn(command(plain.to_str().unwrap(), &[])).await.unwrap_err();
    assert!(matches!(error, SpawnError::PermissionDenied { .. }), "{error}");
    let error = host.spawn(command(script.to_str().unwrap(), &[])).await.unwrap_err();
    assert!(matches!(error, SpawnError::MissingInterpreter { .. }), "{error}");
    let elsewhere = SpawnCommand { cwd: Some("/no/such/place".into()), ..command("true", &[]) };
    let on_path = |program| SpawnCommand {
        env: vec![("PATH".into(), format!("/nowhere:{}", directory.path().display()).into())],
        ..command(program, &[])
    };
    let error = host.spawn(on_path("sh")).await.unwrap_err();
    assert!(matches!(error, SpawnError::NotFound { .. }), "only its own PATH counts: {error}");
    let error = host.spawn(on_path("plain")).await.unwrap_err();
    assert!(matches!(error, SpawnError::PermissionDenied { .. }), "{error}");
    let error = host.spawn(on_path("")).await.unwrap_err();
    assert!(matches!(error, SpawnError::NotFound { .. }), "{error}");
    let error = host.spawn(elsewhere).await.unwrap_err();
    assert!(matches!(error, SpawnError::WorkingDirectory { .. }), "{error}");
    let mut large = command("true", &[]);
    large.env.push(("X".into(), "x".repeat(200_000).into()));
    let error = host.spawn(large).await.unwrap_err();
    assert!(matches!(error, SpawnError::TooLarge { .. }), "{error}");
}

async fn a_program_that_does_not_say_how_it_is_run_is_a_script() {
    let (host, _owner) = start_host();
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    fs::write(&script, "exit $(($# * 10 + $1))\n").unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let server = host.spawn(command(script.to_str().unwrap(), &["3", "x"])).await.unwrap();
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Code(23));
}

async fn f18_a_hog_is_ended() {
    let (host, _owner) = start_host();
    let hog = "exec python3 -c 'x = bytearray(200 << 20); import time; time.sleep(60)'";
    let mut wanted = shell(hog, "hog");
    wanted.limits.memory_mib = 64;
    let began = Instant::now();
    let server = host.spawn(wanted).await.unwrap();
    let status = timeout(Duration::from_secs(10), server.exit.wait()).await.unwrap();
    assert_eq!(status, ExitStatusInfo::Over(Excess::Memory));
    figures::took("F18: a hog ended", began.elapsed(), Duration::from_secs(2));

    let mut modest = shell("sleep 0.6; exit 7", "modest");
    modest.limits = Limits { memory_mib: 64, processes: 4 };
    let server = host.spawn(modest).await.unwrap();
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Code(7), "one within its limits is left alone");
}

async fn f18_a_server_that_multiplies_is_ended() {
    let (host, _owner) = start_host();
    let token = token();
    let many = "for i in $(seq 300); do (exec -a \"$0\" sleep 61) & done; sleep 61";
    let mut wanted = command("bash", &["-c", many, &token]);
    wanted.limits.processes = 20;
    let began = Instant::now();
    let server = host.spawn(wanted).await.unwrap();
    let status = timeout(Duration::from_secs(10), server.exit.wait()).await.unwrap();
    println!("F18: a server that multiplied was ended after {:?}", began.elapsed());
    assert_eq!(status, ExitStatusInfo::Over(Excess::Processes));
    assert_eq!(sleepers(&token), 0, "and nothing of it is left");
}

async fn passes_directory_arguments_and_environment() {
    let (host, _owner) = start_host();
    let directory = tempfile::tempdir().unwrap();
    let odd = OsString::from_vec(b"\xff\x80 odd".to_vec());
    let mut wanted = command("sh", &["-c", "pwd; printf '%s|%s|%s|%s' \"$0\" \"$1\" \"$ODD\" \"$HOME\""]);
    wanted.args.extend([odd.clone(), OsString::new()]);
    wanted.env.push(("ODD".into(), odd.clone()));
    wanted.cwd = Some(directory.path().canonicalize().unwrap());
    let mut expected = wanted.cwd.clone().unwrap().into_os_string().into_vec();
    expected.extend([b"\n", odd.as_bytes(), b"||", odd.as_bytes(), b"|"].concat());

    let mut server = host.spawn(wanted).await.unwrap();
    assert_eq!(read_all(&mut server.stdout).await, expected);
}

async fn passes_a_large_environment() {
    let (host, _owner) = start_host();
    let mut wanted = command("env", &[]);
    wanted.env.extend((0..16).map(|n| (format!("BIG_{n}").into(), "x".repeat(64 << 10).into())));
    let mut server = host.spawn(wanted).await.unwrap();
    assert!(read_all(&mut server.stdout).await.len() > 1 << 20);
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Code(0));
}

async fn starts_with_clean_signals_and_descriptors() {
    let (host, _owner) = start_host();
    let script = "grep -E '^Sig(Blk|Ign)' /proc/$$/status | cut -f2;
        for fd in 3 4 5 6 7 8 9 10 11 12; do test -e /proc/$$/fd/$fd && echo leaked $fd; done";
    let mut server = host.spawn(shell(script, "")).await.unwrap();
    let output = String::from_utf8(read_all(&mut server.stdout).await).unwrap();
    let (masks, leaked): (Vec<&str>, Vec<&str>) = output.lines().partition(|line| line.len() == 16);
    // The first 31 are the signals with names; 32 and 33 belong to the C library.
    let named = masks.iter().map(|mask| u64::from_str_radix(mask, 16).unwrap() & 0x7fff_ffff);
    assert_eq!((named.collect::<Vec<_>>(), leaked), (vec![0, 0], vec![]));
}

async fn tells_the_signal_that_killed_it() {
    let (host, _owner) = start_host();
    for signal in [Signal::SIGKILL as i32, Signal::SIGSEGV as i32, 40] {
        let server = host.spawn(shell("kill -$0 $$; sleep 60", &signal.to_string())).await.unwrap();
        assert_eq!(server.exit.wait().await, ExitStatusInfo::Signal(signal));
    }
    let server = host.spawn(command("sleep", &["60"])).await.unwrap();
    server.control.signal(Signal::SIGUSR1 as i32);
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Signal(Signal::SIGUSR1 as i32));
}

async fn f17_sweep_leaves_nothing() {
    let (host, _owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    assert_eq!(server.control.sweep().await, ExitStatusInfo::Signal(9));
    assert_eq!(alive(&token), [0; 0], "the sweep is over, so all are gone");
}

async fn f17_crash_leaves_nothing() {
    let (host, _owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    let crashed = Instant::now();
    kill_hard(server.pid);
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Signal(9));
    figures::took("F17: a crash told, all gone", crashed.elapsed(), Duration::from_millis(200));
    assert_eq!(alive(&token), [0; 0], "the end is told when all are gone");
}

async fn f17_drop_leaves_nothing() {
    let (host, _owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    drop(server);
    none_left(&token).await;
}

async fn f17_a_hundred_cycles_leave_nothing() {
    let (host, _owner) = start_host();
    for n in 0..cycles(100) {
        let token = token();
        let server =
            host.spawn(shell("setsid sleep $0 & (setsid sleep $0 &); sleep $0", &token)).await.unwrap();
        // Every other time at whatever point of its start this hits.
        if n % 2 == 0 {
            eventually("all sleep", || sleepers(&token) == 3).await;
        }
        assert_ne!(server.control.sweep().await, ExitStatusInfo::Lost);
        assert_eq!(alive(&token), [0; 0]);
    }
}

async fn f17_a_process_that_never_stands_still_is_caught() {
    let (host, _owner) = start_host();
    let token = token();
    // Each lives for one fork only, in a session of its own.
    let comet = "import os
os.setsid() if os.fork() == 0 else os._exit(0)
while True:
    if os.fork(): os._exit(0)
    os.setsid()";
    let wanted = command("sh", &["-c", "python3 -c \"$0\" \"$1\" & exec sleep \"$1\"", comet, &token]);
    let server = host.spawn(wanted).await.unwrap();
    let keeper = parent_of(server.pid);
    eventually("it is on its way", || children_of(keeper).iter().any(|child| *child != server.pid)).await;
    assert_eq!(server.control.sweep().await, ExitStatusInfo::Signal(9));
    assert_eq!(alive(&token), [0; 0]);
}

async fn f17_others_are_untouched() {
    let (host, _owner) = start_host();
    let (first, first_token) = start_nasty(&host).await;
    let (second, second_token) = start_nasty(&host).await;
    first.control.sweep().await;
    assert_eq!(alive(&first_token), [0; 0]);
    assert_eq!(sleepers(&second_token), NASTY_SLEEPERS);
    assert_eq!(second.exit.try_get(), None);
}

async fn f16_stop_lets_a_polite_server_finish() {
    let (host, _owner) = start_host();
    // It writes more than a pipe holds once its input ends.
    let server = host.spawn(shell("cat >/dev/null; head -c 2000000 /dev/zero; exit 3", "")).await.unwrap();
    assert_eq!(stop(server, StopGrace::default()).await, ExitStatusInfo::Code(3));
}

async fn f16_stop_sends_term_to_the_group() {
    let (host, _owner) = start_host();
    let mut server =
        host.spawn(shell("trap 'exit 5' TERM; echo ready; while :; do sleep 60; done", "")).await.unwrap();
    ready(&mut server).await;
    let grace = StopGrace { after_close: Duration::from_millis(20), after_term: Duration::from_secs(5) };
    assert_eq!(stop(server, grace).await, ExitStatusInfo::Code(5));
}

async fn f16_stubborn_server_is_gone_within_grace() {
    let (host, _owner) = start_host();
    let token = token();
    let mut server = host.spawn(shell(STUBBORN, &token)).await.unwrap();
    ready(&mut server).await;
    let grace = StopGrace::default();
    let started = Instant::now();
    assert_eq!(stop(server, grace).await, ExitStatusInfo::Signal(9));
    let (took, allowed) = (started.elapsed(), grace.after_close + grace.after_term);
    assert!(took >= allowed, "{took:?}");
    figures::took("F16: a stubborn server gone", took, allowed + Duration::from_millis(200));
    assert_eq!(alive(&token), [0; 0]);
}

async fn f16_no_zombies() {
    let (host, _owner) = start_host();
    let script = "for i in 1 2 3 4 5 6 7 8; do (sleep 0 &); done; echo ready; exec sleep $0";
    let token = token();
    let mut server = host.spawn(shell(script, &token)).await.unwrap();
    ready(&mut server).await;
    let keeper = parent_of(server.pid);
    let guard = parent_of(keeper);
    eventually("the orphans are reaped", || children_of(keeper) == [server.pid]).await;
    server.control.sweep().await;
    eventually("the keeper is reaped", || children_of(guard).is_empty()).await;
}

async fn f28_killed_gateway_leaves_nothing() {
    for _ in 0..cycles(10) {
        check_killed_gateway(kill_hard).await;
    }
}

async fn f28_killed_by_name_leaves_nothing() {
    // Whoever kills by our name must not hit the guard as well, by its command line or its short name.
    check_killed_gateway(|gateway| {
        let name = fs::read_to_string(format!("/proc/{gateway}/comm")).unwrap();
        for pid in std::iter::once(gateway).chain(descendants_of(gateway)) {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if line.contains("process-") || comm == name {
                kill_hard(pid);
            }
        }
    })
    .await;
}

async fn killed_guard_ends_servers_and_is_replaced() {
    let (host, _owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    let guard = parent_of(parent_of(server.pid));
    let killed = Instant::now();
    kill_hard(guard);
    server.exit.wait().await;
    none_left(&token).await;
    figures::took("F28: all gone after the guard", killed.elapsed(), Duration::from_secs(1));

    let next = host.spawn(shell("exit 4", "")).await.unwrap();
    assert_eq!(next.exit.wait().await, ExitStatusInfo::Code(4));
    eventually("we have one guard and no zombies", || children_of(std::process::id()).len() == 1).await;

    // Guard and keeper at once: what they leave falls to us.
    let next_token = self::token();
    let next = host.spawn(shell("(setsid sleep $0 &); sleep $0", &next_token)).await.unwrap();
    eventually("both sleep", || sleepers(&next_token) == 2).await;
    let keeper = parent_of(next.pid);
    // Held still, or a quick keeper would still do its work between the two.
    hold_still(keeper).await;
    kill_hard(parent_of(keeper));
    kill_hard(keeper);
    assert_eq!(next.exit.wait().await, ExitStatusInfo::Lost);
    none_left(&next_token).await;
    eventually("no zombies are left", || children_of(std::process::id()).is_empty()).await;
}

async fn killed_keeper_ends_its_server_only() {
    let (host, _owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    let (other, other_token) = start_nasty(&host).await;
    kill_hard(parent_of(server.pid));
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Lost);
    none_left(&token).await;
    assert_eq!(sleepers(&other_token), NASTY_SLEEPERS);
    assert_eq!(other.exit.try_get(), None);
}

async fn guard_ends_with_the_host() {
    let (host, owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    drop(host);
    assert_eq!(server.exit.try_get(), None, "the server's handle keeps the guard");
    drop(server);
    timeout(Duration::from_secs(1), owner).await.unwrap().unwrap();
    assert_eq!(alive(&token), [0; 0]);
    assert_eq!(children_of(std::process::id()), [0; 0]);
}

async fn fifty_spawns_at_once() {
    let (host, _owner) = start_host();
    let mut spawns = JoinSet::new();
    for n in 0..50 {
        let host = host.clone();
        spawns.spawn(async move {
            let mut server = host.spawn(shell("echo $0; read line; exit $0", &n.to_string())).await.unwrap();
            let mut line = String::new();
            BufReader::new(&mut server.stdout).read_line(&mut line).await.unwrap();
            assert_eq!(line.trim(), n.to_string());
            server
        });
    }
    for server in spawns.join_all().await {
        assert_eq!(server.exit.try_get(), None);
        assert!(matches!(stop(server, StopGrace::default()).await, ExitStatusInfo::Code(_)));
    }
}

async fn guard_and_keepers_are_small() {
    if manifold_guard::PROGRAM.is_empty() {
        return println!("skipped: no small guard was built here");
    }
    let (host, _owner) = start_host();
    let mut server = host.spawn(shell("echo ready; read line", "")).await.unwrap();
    ready(&mut server).await;
    let keeper = parent_of(server.pid);
    for pid in [keeper, parent_of(keeper)] {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
        let kib: u32 = kib.unwrap().trim().parse().unwrap();
        println!("{} has {kib} KiB", status.lines().next().unwrap());
        assert!(is_ours(pid) && kib < 150, "{kib} KiB");
        let environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
        // M10: the marker, and nothing that could be secret.
        let is_bare = environment.starts_with("MANIFOLD_TREE=") && environment.matches('\0').count() == 1;
        assert!(is_bare, "{environment}");
    }
}

/// L15: a server kills keeper and guard and leaves a grandchild that nothing can be told by.
const TRAITOR: &str = r#"
    env -i setsid sh -c '(sleep $0 &)' $0
    guard=$(cut -d' ' -f4 /proc/$PPID/stat)
    kill -STOP $PPID; kill -KILL $guard; kill -KILL $PPID; sleep 60
"#;

async fn l15_what_no_mark_tells_falls_to_us() {
    own_all_orphans();
    let (host, _owner) = start_host();
    let token = token();
    let server = host.spawn(shell(TRAITOR, &token)).await.unwrap();
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Lost);
    none_left(&token).await;
    eventually("no zombies are left", || children_of(std::process::id()).is_empty()).await;
    // As it goes as well: the end of the gateway waits for it.
    let server = host.spawn(shell(TRAITOR, &token)).await.unwrap();
    host.finish().await;
    assert_eq!(alive(&token), [0; 0]);
    assert_eq!(children_of(std::process::id()), [0; 0]);
    drop(server);
    assert!(matches!(host.spawn(command("true", &[])).await, Err(SpawnError::ShuttingDown)));
}

// L15: nor is what we were given by whoever we were before ours to kill
async fn l15_children_of_others_are_left_alone() {
    let token = token();
    let mut others = Command::new("sleep").arg(&token).spawn().unwrap();
    own_all_orphans();
    let (host, _owner) = start_host();
    let server = host.spawn(shell(TRAITOR, "0")).await.unwrap();
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Lost);
    host.finish().await;
    assert_eq!(sleepers(&token), 1);
    others.kill().unwrap();
    others.wait().unwrap();
}

async fn the_gateway_can_be_its_own_guard() {
    let (host, owner) = ProcessHost::with_guard_program("/proc/self/exe".into());
    let _owner = tokio::runtime::Handle::current().spawn(owner);
    let (server, token) = start_nasty(&host).await;
    let keeper = parent_of(server.pid);
    let ours = fs::read_link("/proc/self/exe").unwrap();
    assert_eq!(fs::read_link(format!("/proc/{keeper}/exe")).unwrap(), ours);
    assert!(is_ours(keeper) && is_ours(parent_of(keeper)));
    let environment = fs::read_to_string(format!("/proc/{}/environ", server.pid)).unwrap();
    assert!(environment.contains("MANIFOLD_TREE="), "{environment}");
    assert_eq!(server.control.sweep().await, ExitStatusInfo::Signal(9));
    assert_eq!(alive(&token), [0; 0]);
}

/// Starts a gateway with three nasty servers, ends it in the way given, and wants nothing left one second later.
async fn check_killed_gateway(end: impl Fn(u32)) {
    let token = token();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["gateway", &token])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the gateway's servers run", || sleepers(&token) == 3 * NASTY_SLEEPERS).await;
    let below = descendants_of(child.id());
    assert!(below.len() > 3 * NASTY_SLEEPERS);

    let killed = Instant::now();
    end(child.id());
    child.wait().unwrap();
    none_left(&token).await;
    eventually("guard and keepers are gone", || below.iter().all(|pid| !is_ours(*pid))).await;
    figures::took("F28: all gone after the gateway", killed.elapsed(), Duration::from_secs(1));
}

async fn gateway(token: &str) {
    let (host, owner) = ProcessHost::new();
    let servers = async {
        let mut servers = Vec::new();
        for _ in 0..3 {
            servers.push(host.spawn(shell(NASTY, token)).await.unwrap());
        }
        pending::<()>().await;
    };
    tokio::join!(owner, servers);
}

/// Prints what the guard costs. Run by hand: `cargo test --release --test process measure`.
async fn measure() {
    let (host, _owner) = start_host();
    let mut servers = Vec::new();
    let mut times = Vec::new();
    for _ in 0..101 {
        let started = Instant::now();
        servers.push(host.spawn(command("sleep", &["60"])).await.unwrap());
        times.push(started.elapsed().as_micros());
    }
    let keeper = parent_of(servers[0].pid);
    println!("first spawn {} µs", times.remove(0));
    times.sort_unstable();
    println!("later spawns: median {} µs, p99 {} µs", times[50], times[99]);
    for (name, pid) in [("guard", parent_of(keeper)), ("keeper", keeper)] {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
        let wanted = ["Rss:", "Pss:", "Private_Dirty:"];
        let lines = rollup.lines().filter(|line| wanted.iter().any(|w| line.starts_with(w)));
        println!(
            "{name}: {}",
            lines.map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
        );
    }
    let started = Instant::now();
    for server in servers {
        server.control.sweep().await;
    }
    println!("101 sweeps {} ms", started.elapsed().as_millis());
}

fn start_host() -> (ProcessHost, JoinHandle<()>) {
    let (host, owner) = ProcessHost::new();
    (host, tokio::runtime::Handle::current().spawn(owner))
}

async fn start_nasty(host: &ProcessHost) -> (ServerProcess, String) {
    let token = token();
    let server = host.spawn(shell(NASTY, &token)).await.unwrap();
    eventually("all sleepers sleep", || sleepers(&token) == NASTY_SLEEPERS).await;
    (server, token)
}

fn command(program: &str, args: &[&str]) -> SpawnCommand {
    let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    SpawnCommand {
        program: program.into(),
        args: args.iter().map(OsString::from).collect(),
        env,
        cwd: None,
        limits: Limits::default(),
    }
}

fn shell(script: &str, zeroth: &str) -> SpawnCommand {
    command("sh", &["-c", script, zeroth])
}

async fn ready(server: &mut ServerProcess) {
    let mut word = [0; 6];
    server.stdout.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"ready\n");
}

async fn read_all(pipe: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).await.unwrap();
    bytes
}

/// A time to sleep that no other process on this machine sleeps.
fn token() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("1000.{:07}{:05}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn cycles(default: u32) -> u32 {
    std::env::var("MANIFOLD_TEST_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

async fn none_left(token: &str) {
    eventually("nothing is left", || alive(token).is_empty()).await;
}

async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "in vain waited until {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

fn sleepers(token: &str) -> usize {
    let line = format!("sleep\0{token}\0");
    pids()
        .filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|found| found == line.as_bytes()))
        .count()
}

/// Processes with the token on their command line, the gateway of the test aside. A zombie has none.
fn alive(token: &str) -> Vec<u32> {
    let has_token = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains(token) && !line.contains("\0gateway\0"))
    };
    pids().filter(has_token).collect()
}

fn is_ours(pid: u32) -> bool {
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    matches!(comm.trim(), "mcp-guard" | "mcp-keeper")
        && state_and_parent(pid).is_some_and(|(state, _)| state != 'Z')
}

fn descendants_of(pid: u32) -> Vec<u32> {
    children_of(pid)
        .into_iter()
        .flat_map(|child| std::iter::once(child).chain(descendants_of(child)))
        .collect()
}

/// The children of a process, zombies among them.
fn children_of(parent: u32) -> Vec<u32> {
    pids().filter(|pid| state_and_parent(*pid).is_some_and(|(_, found)| found == parent)).collect()
}

fn parent_of(pid: u32) -> u32 {
    state_and_parent(pid).unwrap().1
}

fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

async fn hold_still(pid: u32) {
    let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGSTOP);
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next())
    };
    eventually("it is stopped", || state() == Some('T')).await;
}

fn kill_hard(pid: u32) {
    let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
}
