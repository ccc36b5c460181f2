//! Server processes and their ends. The F-numbers are those of the fault list.
//!
//! Without the usual harness, since this binary has to be its own guard: `main` decides which of the three it is, a
//! guard, a gateway to be killed, or the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "this is a test")]

#[path = "process/cgroup.rs"]
mod cgroup;
#[path = "process/guard.rs"]
mod guard;
#[path = "process/handover.rs"]
mod handover;
#[path = "process/handover/askers.rs"]
mod handover_askers;
#[path = "process/handover/cases.rs"]
mod handover_cases;
#[path = "process/killed.rs"]
mod killed;
#[path = "process/limits.rs"]
mod limits;
#[path = "process/orphans.rs"]
mod orphans;
#[path = "process/proc_files.rs"]
mod proc_files;
#[path = "process/starting.rs"]
mod starting;
#[path = "process/stopping.rs"]
mod stopping;
#[path = "process/sweeping.rs"]
mod sweeping;
#[path = "process/usage.rs"]
mod usage;

use std::ffi::OsString;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use manifold_upstreams::process::{Limits, ProcessHost, ServerProcess, SpawnCommand, guard_main_if_asked};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::AsyncReadExt;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use proc_files::{alive, sleepers};

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

fn main() {
    guard_main_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.is_empty() && std::env::var_os("FAKE_SERVER").is_some() {
        manifold_testkit::fake::main();
        return;
    }
    match args.first().map(String::as_str) {
        Some("gateway") => Runtime::new().unwrap().block_on(killed::gateway(&args[1])),
        Some("doomed") => Runtime::new().unwrap().block_on(cgroup::doomed(&args[1])),
        Some("half") => handover_askers::half_server(&args[1]),
        Some("first") => Runtime::new().unwrap().block_on(handover_cases::first_program(&args[1])),
        Some("second") => Runtime::new().unwrap().block_on(handover_cases::second_program(&args[1])),
        Some("measure") => Runtime::new().unwrap().block_on(guard::measure()),
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
        starting::talks_and_tells_its_exit_code,
        starting::says_why_a_program_cannot_run,
        starting::a_program_that_does_not_say_how_it_is_run_is_a_script,
        starting::passes_directory_arguments_and_environment,
        starting::passes_a_large_environment,
        starting::starts_with_clean_signals_and_descriptors,
        starting::tells_the_signal_that_killed_it,
        limits::f18_a_hog_is_ended,
        limits::f18_a_server_that_multiplies_is_ended,
        usage::a_server_counts_with_all_that_it_has_started,
        sweeping::f17_sweep_leaves_nothing,
        sweeping::f17_crash_leaves_nothing,
        sweeping::f17_drop_leaves_nothing,
        sweeping::f17_a_hundred_cycles_leave_nothing,
        sweeping::f17_a_process_that_never_stands_still_is_caught,
        sweeping::f17_others_are_untouched,
        stopping::f16_stop_lets_a_polite_server_finish,
        stopping::f16_stop_sends_term_to_the_group,
        stopping::f16_stubborn_server_is_gone_within_grace,
        stopping::f16_no_zombies,
        stopping::a_start_that_comes_late_is_over_before_the_next,
        killed::f28_killed_gateway_leaves_nothing,
        killed::f28_killed_by_name_leaves_nothing,
        killed::killed_guard_ends_servers_and_is_replaced,
        killed::killed_keeper_ends_its_server_only,
        guard::guard_ends_with_the_host,
        handover::servers_of_every_dialect_outlive_the_program,
        handover::a_litemcp_server_outlives_the_program,
        handover_cases::halves_of_messages_are_completed,
        handover_cases::a_server_that_ends_in_between_is_dead_for_its_calls,
        handover_cases::a_changed_definition_ends_the_server_in_good_order,
        handover_cases::what_nobody_takes_up_is_ended,
        handover_cases::a_question_is_asked_again,
        handover_cases::a_call_can_be_taken_back_after_the_handover,
        handover_cases::calls_that_wait_are_forgotten,
        handover_cases::a_stopped_server_stays_stopped,
        handover_cases::a_state_of_another_release_is_read,
        handover_cases::servers_outlive_an_exec,
        handover_cases::no_call_is_lost_or_doubled_under_load,
        starting::fifty_spawns_at_once,
        guard::guard_and_keepers_are_small,
        guard::the_gateway_can_be_its_own_guard,
        orphans::l15_what_no_mark_tells_falls_to_us,
        orphans::l15_children_of_others_are_left_alone,
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

/// A time to sleep that no other process on this machine sleeps.
fn token() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("1000.{:07}{:05}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
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

fn kill_hard(pid: u32) {
    let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
}

fn cycles(default: u32) -> u32 {
    std::env::var("MANIFOLD_TEST_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}
