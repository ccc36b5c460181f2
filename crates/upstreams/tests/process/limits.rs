//! F18: a server that takes more than it may is ended.

use std::time::Duration;

use manifold_testkit::figures;
use manifold_upstreams::process::{Excess, ExitStatusInfo, Limits};
use tokio::time::{Instant, timeout};

use super::proc_files::sleepers;
use super::{command, shell, start_host, token};

pub(super) async fn f18_a_hog_is_ended() {
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

pub(super) async fn f18_a_server_that_multiplies_is_ended() {
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
