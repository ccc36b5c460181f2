//! What needs no process; the rest is in `tests/process.rs`, whose binary can be its own guard.

use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;

use super::wire::{HEAD_BYTES, Report, decode_request, encode_request};
use super::*;

fn command(program: &str) -> SpawnCommand {
    SpawnCommand { program: program.into(), args: vec![], env: vec![], cwd: None, limits: Limits::default() }
}

#[test]
fn a_request_survives_the_wire_byte_for_byte() {
    let odd = OsString::from_vec(b"\xff\xfe=\n".to_vec());
    let wanted = SpawnCommand {
        program: odd.clone(),
        args: vec!["".into(), odd.clone()],
        env: vec![
            ("EMPTY".into(), "".into()),
            (odd.clone(), odd.clone()),
            ("BIG".into(), "x".repeat(100_000).into()),
        ],
        cwd: Some(PathBuf::from(odd.clone())),
        limits: Limits { memory_mib: 7, processes: u32::MAX },
    };
    let frame = encode_request(odd.as_ref(), &wanted);
    assert_eq!(decode_request(&frame[HEAD_BYTES..]), Some((PathBuf::from(odd), wanted)));
}

#[test]
fn a_cut_request_is_refused_wherever_it_is_cut() {
    let frame = encode_request("/bin/true".as_ref(), &command("true"));
    for end in HEAD_BYTES..frame.len() {
        assert_eq!(decode_request(&frame[HEAD_BYTES..end]), None);
    }
}

#[test]
fn reports_survive_the_wire() {
    for report in [
        Report::Spawned { pid: 4_000_000 },
        Report::Failed { errno: 2 },
        Report::Exited { code: 255, swept: 3 },
        Report::Killed { signal: 9, swept: u32::MAX },
    ] {
        assert_eq!(Report::decode(report.encode()), Some(report));
    }
}

#[test]
fn a_program_is_found_on_the_servers_own_path() {
    let directory = tempfile::tempdir().unwrap();
    let (tool, notes) = (directory.path().join("tool"), directory.path().join("notes"));
    std::fs::write(&tool, "").unwrap();
    std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(&notes, "").unwrap();
    let on_path = |program| {
        let env = vec![("PATH".into(), format!("/nowhere:{}", directory.path().display()).into())];
        lookup::resolve(&SpawnCommand { env, ..command(program) })
    };

    assert_eq!(on_path("tool").unwrap(), tool);
    assert!(matches!(on_path("notes"), Err(SpawnError::PermissionDenied { .. })));
    assert!(matches!(on_path("sh"), Err(SpawnError::NotFound { .. })));
    assert!(matches!(on_path(""), Err(SpawnError::NotFound { .. })));
    let here = SpawnCommand { cwd: Some(directory.path().into()), ..command("./tool") };
    assert!(lookup::resolve(&here).unwrap().is_absolute());
}

#[test]
fn nothing_secret_is_shown() {
    let wanted = SpawnCommand { env: vec![("TOKEN".into(), "hunter2".into())], ..command("git") };
    let shown = format!("{wanted:?}");
    assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
}
