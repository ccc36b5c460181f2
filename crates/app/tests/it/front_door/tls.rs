//! The door behind TLS.

use std::path::{Path, PathBuf};

use super::*;
use crate::cli::{Ran, run};
use crate::http_lifecycle::http_command;

struct Tls {
    cert: PathBuf,
    key: PathBuf,
}

/// Makes a certificate for this machine.
fn certificate(sandbox: &Sandbox, name: &str) -> Tls {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    Tls {
        cert: sandbox.write(&format!("{name}.cert.pem"), &made.cert.pem()),
        key: sandbox.write(&format!("{name}.key.pem"), &made.signing_key.serialize_pem()),
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn tls_is_served_to_those_who_trust_the_certificate() {
    let sandbox = Sandbox::new();
    let tls = certificate(&sandbox, "own");
    let configured = with_server(&sandbox, json!({"tls": {"cert": tls.cert, "key": tls.key}}));
    let flags = vec!["--tls-cert", text(&tls.cert), "--tls-key", text(&tls.key)];
    for (config, more) in [(one(&sandbox), flags), (configured, vec![])] {
        let gateway = spawn(http_command(&sandbox, &config, &more));
        let curl = |args: &[&str]| {
            let mut command = sandbox.command("curl");
            command.args(["-sS", "--max-time", "20", "--cacert", text(&tls.cert)]).args(args);
            run(command)
        };
        let url = format!("https://localhost:{}/api/default/mcp", gateway.port);
        for (version, flag) in [("1.1", "--http1.1"), ("2", "--http2")] {
            let Ran { stdout, stderr, .. } = curl(&[
                flag,
                "-w",
                " %{http_version}",
                "-H",
                "content-type: application/json",
                "-d",
                &trace(),
                &url,
            ]);
            assert!(
                stdout.contains(r#""text":"in""#) && stdout.ends_with(&format!(" {version}")),
                "{stdout} {stderr}"
            );
        }
        let status = curl(&[&format!("https://127.0.0.1:{}/api/status", gateway.port)]).stdout;
        let status: Value = serde_json::from_str(&status).unwrap();
        assert_eq!(status["server"]["url"], format!("https://localhost:{}", gateway.port));
        // The door is the same behind TLS.
        let refused = curl(&["-o", "/dev/null", "-w", "%{http_code}", "-H", "host: evil.example", &url]);
        assert_eq!(refused.stdout, "403");
        // Nobody is served in the clear, and one who does not trust us does not speak with us.
        let plain = run({
            let mut command = sandbox.command("curl");
            command.args(["-sS", "--max-time", "20", &format!("http://localhost:{}/health", gateway.port)]);
            command
        });
        assert_ne!(plain.code, Some(0), "{}", plain.stdout);
        let stranger = run({
            let mut command = sandbox.command("curl");
            command.args(["-sS", "--max-time", "20", &format!("https://localhost:{}/health", gateway.port)]);
            command
        });
        assert_eq!(stranger.code, Some(60), "{}", stranger.stderr);
        end_quietly(gateway.client);
    }
}

#[test]
fn a_new_certificate_is_served_without_a_restart() {
    let sandbox = Sandbox::new();
    let (tls, next) = (certificate(&sandbox, "own"), certificate(&sandbox, "next"));
    let old = sandbox.write("old.pem", &std::fs::read_to_string(&tls.cert).unwrap());
    let config = with_server(&sandbox, json!({"tls": {"cert": tls.cert, "key": tls.key}}));
    let gateway = spawn(http_command(&sandbox, &config, &[]));
    let trusts = |certificate: &Path| {
        let mut command = sandbox.command("curl");
        let url = format!("https://localhost:{}/livez", gateway.port);
        command.args(["-sS", "--max-time", "20", "--cacert", text(certificate), &url]);
        run(command).stdout == "live"
    };
    assert!(trusts(&old));
    // What cannot be used changes nothing.
    std::fs::write(&tls.cert, "no certificate").unwrap();
    assert!(until(PATIENCE, || gateway.client.stderr().contains("the certificates in use stay")));
    assert!(trusts(&old));
    std::fs::copy(&next.cert, &tls.cert).unwrap();
    std::fs::copy(&next.key, &tls.key).unwrap();
    assert!(until(PATIENCE, || trusts(&next.cert)), "{}", gateway.client.stderr());
    assert!(!trusts(&old));
    end_quietly(gateway.client);
}

#[test]
fn tls_that_cannot_work_says_why_and_starts_nothing() {
    let sandbox = Sandbox::new();
    let (tls, other) = (certificate(&sandbox, "own"), certificate(&sandbox, "other"));
    let (missing, junk) = (sandbox.path("missing.pem"), sandbox.write("junk.pem", "junk"));
    let cases = [
        (vec!["--tls-cert", text(&missing), "--tls-key", text(&tls.key)], "missing.pem"),
        (vec!["--tls-cert", text(&tls.cert), "--tls-key", text(&missing)], "missing.pem"),
        (vec!["--tls-cert", text(&junk), "--tls-key", text(&tls.key)], "junk.pem"),
        (vec!["--tls-cert", text(&tls.cert), "--tls-key", text(&junk)], "junk.pem"),
        (vec!["--tls-cert", text(&tls.cert), "--tls-key", text(&tls.cert)], "own.cert.pem"),
        (vec!["--tls-cert", text(&tls.cert), "--tls-key", text(&other.key)], "key"),
        (vec!["--tls-cert", text(&tls.cert)], "--tls-key"),
        (vec!["--tls-key", text(&tls.key)], "--tls-cert"),
    ];
    for (mut more, word) in cases {
        more.push("--eager");
        let ran = run(http_command(&sandbox, &one(&sandbox), &more));
        assert_eq!(ran.code, Some(2), "{more:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(word), "{more:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("PRIVATE KEY"), "{}", ran.stderr);
    }
    let config = with_server(&sandbox, json!({"tls": {"cert": tls.cert}}));
    let ran = run(http_command(&sandbox, &config, &["--eager"]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("server.tls"), "{}", ran.stderr);
    assert!(!sandbox.path("s.pid").exists(), "nothing is spawned");
}
