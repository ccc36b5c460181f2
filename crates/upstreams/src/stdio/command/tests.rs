use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use manifold_config::{ClientEnvironment, Environment, LoadOptions, Transport, load_text};
use manifold_engine::Tasks;

use super::*;
use crate::fake::FakeHost;
use crate::stdio::Shutdowns;
use crate::{Cache, Upstreams};

/// Returns what starts a server for a client of the daemon with these variables.
fn launch(entry: &str, values: &[(&str, &str)]) -> Launch {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let client = ClientEnvironment { values: values.collect(), cwd: "/".into(), project: "/".into() };
    let vars = BTreeMap::from([("LANG".to_owned(), "C".to_owned()), ("SECRET".to_owned(), "s".to_owned())]);
    let environment = Environment { vars, cwd: "/".into(), ..Environment::default() };
    let options = LoadOptions { environment, client: Some(client), ..LoadOptions::default() };
    let text = format!(r#"{{"mcpServers":{{"s":{{{entry}}}}}}}"#);
    let config = load_text(&text, Some(Path::new("/config.json")), &options).unwrap();
    let server = Arc::new(config.servers[0].clone());
    let Transport::Process(spec) = server.transport.clone() else { panic!("no process") };
    let upstreams = Upstreams::new(Tasks::new(), Cache::new(None), 1 << 20);
    Launch {
        server,
        spec,
        processes: upstreams.processes(),
        host: Arc::new(FakeHost::default()),
        logs: Arc::default(),
        cache: Cache::new(None),
        limit_bytes: 1 << 20,
        above: "mark".into(),
        shutdowns: Shutdowns::default(),
    }
}

#[tokio::test]
async fn a_clients_server_gets_what_was_resolved_and_nothing_of_our_own_process() {
    let entry = r#""command":"/bin/true","env":{"T":"${TOKEN}"}"#;
    let command = launch(entry, &[("TOKEN", "t"), ("PATH", "/bin"), ("MANIFOLD_ABOVE", "x")]).command();
    let env: Vec<String> =
        command.env.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
    assert_eq!(env, ["LANG=C", "PATH=/bin", "T=t", "TOKEN=t", "MANIFOLD_ABOVE=mark"]);
    assert_eq!(command.cwd.as_deref(), Some(Path::new("/")));
}

#[tokio::test]
async fn a_start_that_fails_says_which_variables_there_were() {
    let fails =
        |entry: &str| launch(entry, &[]).with_hint(launch(entry, &[]).failed("why".to_owned())).message();
    let named = fails(r#""command":"/bin/true""#);
    assert!(named.contains("why") && named.contains("`inheritEnv`"), "{named}");
    for said in [r#""inheritEnv":true"#, r#""inheritEnv":false"#, r#""inheritEnv":["A"]"#] {
        let message = fails(&format!(r#""command":"/bin/true",{said}"#));
        assert!(!message.contains("inheritEnv"), "{message}");
    }
}
