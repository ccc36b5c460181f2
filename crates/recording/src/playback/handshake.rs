//! How a session begins, or what is told to who has none: as it was recorded, in whichever era.

use serde_json::value::RawValue;

use super::Playback;
use super::eras::{REVISION, SERVER_INFO};
use crate::canonical::canonical;
use crate::exchange::Outcome;
use crate::message::{Members, quoted};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

impl Playback {
    /// Returns the answer to what belongs to no call.
    pub(super) fn handshake(&mut self, method: &str, params: Option<&RawValue>) -> Option<Box<RawValue>> {
        let text = match method {
            "ping" => "{}".to_owned(),
            "initialize" => self.initialized(params),
            "server/discover" => self.discovered(params),
            _ => return None,
        };
        RawValue::from_string(text).ok()
    }

    fn initialized(&mut self, params: Option<&RawValue>) -> String {
        let exact = self.next("initialize", &canonical(params));
        if let Some(result) = exact.and_then(|place| self.result_at(place)) {
            return result.get().to_owned();
        }
        let wanted = params.and_then(Members::of).and_then(|params| params.text("protocolVersion"));
        let wanted = wanted.filter(|wanted| LEGACY.contains(&wanted.as_str()));
        let version = quoted(wanted.as_deref().unwrap_or("2025-11-25"));
        if let Some(mut members) = self.result_of("initialize") {
            members.set("protocolVersion", version);
            return members.to_json();
        }
        let said = self.result_of("server/discover").unwrap_or_default();
        let mut result = Members::default();
        result.set("protocolVersion", version);
        let capabilities = said.get("capabilities").map(|found| found.get().to_owned());
        result.set("capabilities", capabilities.unwrap_or_else(|| self.capabilities()));
        let info = said.get("_meta").and_then(Members::of);
        let info = info.and_then(|meta| Some(meta.get(SERVER_INFO)?.get().to_owned()));
        result.set(
            "serverInfo",
            info.unwrap_or_else(|| r#"{"name":"manifold","version":"replay"}"#.to_owned()),
        );
        if let Some(instructions) = said.get("instructions") {
            result.set("instructions", instructions.get().to_owned());
        }
        result.to_json()
    }

    fn discovered(&mut self, params: Option<&RawValue>) -> String {
        let exact = self.next("server/discover", &canonical(params));
        if let Some(result) = exact.and_then(|place| self.result_at(place)) {
            return result.get().to_owned();
        }
        let said = self.result_of("initialize").unwrap_or_default();
        let mut result = Members::default();
        result.set("supportedVersions", format!("[{}]", quoted(REVISION)));
        let capabilities = said.get("capabilities").map(|found| found.get().to_owned());
        result.set("capabilities", capabilities.unwrap_or_else(|| self.capabilities()));
        if let Some(instructions) = said.get("instructions") {
            result.set("instructions", instructions.get().to_owned());
        }
        if let Some(info) = said.get("serverInfo") {
            result.set("_meta", format!("{{{}:{}}}", quoted(SERVER_INFO), info.get()));
        }
        result.to_json()
    }

    fn result_at(&self, place: usize) -> Option<&RawValue> {
        match self.exchanges.get(place)?.outcome.as_ref()? {
            Outcome::Result(result) => Some(result),
            Outcome::Error(_) => None,
        }
    }

    fn result_of(&self, method: &str) -> Option<Members> {
        let places = 0..self.exchanges.len();
        let mut of_method = places
            .filter(|place| self.exchanges.get(*place).is_some_and(|exchange| exchange.method == method));
        of_method.find_map(|place| Members::of(self.result_at(place)?))
    }

    /// Returns what a server can do of which only calls are known.
    fn capabilities(&self) -> String {
        let mut capabilities = Members::default();
        capabilities.set("tools", "{}".to_owned());
        for (prefix, name) in [
            ("resources/", "resources"),
            ("prompts/", "prompts"),
            ("completion/", "completions"),
            ("logging/", "logging"),
        ] {
            if self.exchanges.iter().any(|exchange| exchange.method.starts_with(prefix)) {
                capabilities.set(name, "{}".to_owned());
            }
        }
        capabilities.to_json()
    }
}
