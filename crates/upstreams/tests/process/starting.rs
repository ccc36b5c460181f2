//! How a server starts: what it is given, and what is said when it cannot.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;

use manifold_upstreams::process::{ExitStatusInfo, SpawnCommand, SpawnError, StopGrace, stop};
use nix::sys::signal::Signal;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::task::JoinSet;

use super::{command, shell, start_host};

pub(super) async fn talks_and_tells_its_exit_code() {
    let (host, _owner) = start_host();
    let mut server = host.spawn(shell("read line; echo got $line; echo oh >&2; exit 7", "")).await.unwrap();
    server.stdin.write_all(b"hello\n").await.unwrap();
    assert_eq!(read_all(&mut server.stdout).await, b"got hello\n");
    assert_eq!(read_all(&mut server.stderr).await, b"oh\n");
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Code(7));
    assert_eq!(server.exit.clone().try_get(), Some(ExitStatusInfo::Code(7)));
}

pub(super) async fn says_why_a_program_cannot_run() {
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

pub(super) async fn a_program_that_does_not_say_how_it_is_run_is_a_script() {
    let (host, _owner) = start_host();
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    fs::write(&script, "exit $(($# * 10 + $1))\n").unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let server = host.spawn(command(script.to_str().unwrap(), &["3", "x"])).await.unwrap();
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Code(23));
}

pub(super) async fn passes_directory_arguments_and_environment() {
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

pub(super) async fn passes_a_large_environment() {
    let (host, _owner) = start_host();
    let mut wanted = command("env", &[]);
    wanted.env.extend((0..16).map(|n| (format!("BIG_{n}").into(), "x".repeat(64 << 10).into())));
    let mut server = host.spawn(wanted).await.unwrap();
    assert!(read_all(&mut server.stdout).await.len() > 1 << 20);
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Code(0));
}

pub(super) async fn starts_with_clean_signals_and_descriptors() {
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

pub(super) async fn tells_the_signal_that_killed_it() {
    let (host, _owner) = start_host();
    for signal in [Signal::SIGKILL as i32, Signal::SIGSEGV as i32, 40] {
        let server = host.spawn(shell("kill -$0 $$; sleep 60", &signal.to_string())).await.unwrap();
        assert_eq!(server.exit.wait().await, ExitStatusInfo::Signal(signal));
    }
    let server = host.spawn(command("sleep", &["60"])).await.unwrap();
    server.control.signal(Signal::SIGUSR1 as i32);
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Signal(Signal::SIGUSR1 as i32));
}

pub(super) async fn fifty_spawns_at_once() {
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

async fn read_all(pipe: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).await.unwrap();
    bytes
}
