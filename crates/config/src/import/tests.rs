//! What is made of other programs' servers. The files of a whole home are in `fixtures/home`.

mod entries;
mod files;
mod home;
mod launches;
mod plans;
mod secrets;
mod variables;

use std::path::Path;

use super::{FoundServer, servers_in};
use crate::clients::Client;
use crate::clients::clients;
use crate::secret::Secret;
use crate::secrets::{SecretSource, Secrets};
use crate::testing::environment;

fn client(id: &str) -> &'static Client {
    clients().iter().find(|client| client.id == id).expect("a client of that id")
}

/// Returns the servers of a text as if it lay at this path.
fn found_at(path: &str, text: &str) -> Vec<FoundServer> {
    servers_in(text, Path::new(path), None, &environment()).unwrap()
}

/// Returns the only server of a user's file of Cursor with this entry.
fn one(entry: &str) -> FoundServer {
    named("it", entry)
}

fn named(id: &str, entry: &str) -> FoundServer {
    let text = format!(r#"{{"mcpServers": {{"{id}": {entry}}}}}"#);
    found_at("/home/ann/.cursor/mcp.json", &text).remove(0)
}

/// Returns the servers of our own config with this entry.
fn ours(id: &str, entry: &str) -> FoundServer {
    let text = format!(r#"{{"mcpServers": {{"{id}": {entry}}}}}"#);
    found_at("/home/ann/.config/manifold/config.json", &text).remove(0)
}

/// Returns a server of our own config where each secret in the store has this value.
fn ours_with(id: &str, entry: &str, value: &'static str) -> FoundServer {
    struct Stored(&'static str);
    impl SecretSource for Stored {
        fn secret(&self, _: &str) -> Result<Option<Secret>, String> {
            Ok(Some(Secret::new(self.0)))
        }
    }
    let mut environment = environment();
    environment.secrets = Secrets::of(Stored(value));
    let text = format!(r#"{{"mcpServers": {{"{id}": {entry}}}}}"#);
    let path = Path::new("/home/ann/.config/manifold/config.json");
    servers_in(&text, path, None, &environment).unwrap().remove(0)
}
