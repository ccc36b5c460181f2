//! Clients that show a certificate: whose it is says who asks.

use manifold_testkit::Sandbox;
use manifold_testkit::http::end_quietly;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::json;

use super::*;
use crate::cli::{Ran, run};
use crate::http_lifecycle::http_command;

/// Those who sign for clients.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "clients");
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Makes a certificate for somebody; returns the files of it and of its key.
    fn sign(&self, sandbox: &Sandbox, name: &str) -> [String; 2] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |kind: &str, text: &str| sandbox.write(&format!("{name}.{kind}.pem"), text);
        [file("cert", &certificate.pem()), file("key", &key.serialize_pem())]
            .map(|path| path.display().to_string())
    }
}

#[test]
fn the_subject_of_a_certificate_is_who_asks() {
    let (sandbox, authority) = (Sandbox::new(), Authority::new());
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let server = sandbox.write("server.pem", &made.cert.pem());
    let key = sandbox.write("server.key", &made.signing_key.serialize_pem());
    let ca = sandbox.write("clients.pem", &authority.pem);
    let (ann, bob) = (authority.sign(&sandbox, "ann"), authority.sign(&sandbox, "bob"));
    let stranger = Authority::new().sign(&sandbox, "stranger");
    for (kind, without) in [("required", None), ("optional", Some("401"))] {
        let tls = json!({"cert": server, "key": key, "clientCa": ca, "clientCerts": kind});
        let gateway =
            crate::front_door::spawn(http_command(&sandbox, &two(&sandbox, json!({"tls": tls})), &[]));
        let curl = |who: Option<&[String; 2]>, headers: &[&str], body: &str| -> Ran {
            let mut command = sandbox.command("curl");
            command.args(["-sS", "--max-time", "60", "-i", "--cacert"]).arg(&server);
            if let Some([cert, key]) = who {
                command.args(["--cert", cert, "--key", key]);
            }
            command.args([
                "-H",
                "content-type: application/json",
                "-H",
                "accept: application/json, text/event-stream",
            ]);
            headers.iter().for_each(|header| _ = command.args(["-H", header]));
            command.args(["--http1.1", "-d", body, &format!("https://localhost:{}/mcp", gateway.port)]);
            run(command)
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
        let opened = curl(Some(&ann), &[], &calling(1, "initialize", hello));
        let id = opened
            .stdout
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned));
        let session = format!("mcp-session-id: {}", id.unwrap_or_else(|| panic!("{opened:?}")).trim());
        let list = calling(2, "tools/list", json!({}));
        assert!(curl(Some(&ann), &[&session], &list).stdout.contains("a__echo"));
        assert!(curl(Some(&bob), &[&session], &list).stdout.contains("HTTP/1.1 404"));
        let nobody = curl(None, &[], &list);
        match without {
            Some(status) => assert!(nobody.stdout.contains(&format!("HTTP/1.1 {status}")), "{nobody:?}"),
            None => assert!(nobody.code != Some(0) && nobody.stdout.is_empty(), "{nobody:?}"),
        }
        let other = curl(Some(&stranger), &[], &list);
        assert!(other.code != Some(0) && other.stdout.is_empty(), "{other:?}");
        end_quietly(gateway.client);
    }
}
