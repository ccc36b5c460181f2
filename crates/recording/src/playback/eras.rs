//! Requests with and without a session, and what each era has on its results.

use serde_json::value::RawValue;

use super::Step;
use crate::message::Members;

pub(crate) const REVISION: &str = "2026-07-28";
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Returns the revision a request says it is of.
pub(crate) fn version_of(params: Option<&RawValue>) -> Option<String> {
    Members::of(Members::of(params?)?.get("_meta")?)?.text(VERSION)
}

/// Returns whether a request comes without a session.
pub(crate) fn is_modern(params: Option<&RawValue>) -> bool {
    version_of(params).is_some()
}

/// Returns a result as the asker's era has it. One of the same era keeps its bytes.
pub(super) fn dressed(method: &str, result: &RawValue, is_modern: bool) -> String {
    let Some(mut members) = Members::of(result) else { return result.get().to_owned() };
    let is_marked = members.get("resultType").is_some();
    if is_marked == is_modern {
        return result.get().to_owned();
    }
    let is_cacheable = matches!(method, "server/discover" | "resources/read") || method.ends_with("/list");
    if is_modern {
        members.set("resultType", "\"complete\"".to_owned());
        if is_cacheable {
            members.set("ttlMs", "0".to_owned());
            members.set("cacheScope", "\"private\"".to_owned());
        }
        return members.to_json();
    }
    members.remove("resultType");
    if is_cacheable {
        members.remove("ttlMs");
        members.remove("cacheScope");
    }
    if let Some(mut meta) = members.get("_meta").and_then(Members::of) {
        meta.remove(SERVER_INFO);
        if meta.is_empty() {
            members.remove("_meta");
        } else {
            members.set("_meta", meta.to_json());
        }
    }
    members.to_json()
}

pub(super) fn is_input_required(result: &RawValue) -> bool {
    Members::of(result).and_then(|members| members.text("resultType")).as_deref() == Some("input_required")
}

/// Returns what a result asks, as questions to who has a session.
pub(super) fn questions_of(result: &RawValue) -> Vec<Step> {
    let asked = Members::of(result).and_then(|members| Members::of(members.get("inputRequests")?));
    let question = |(_, request): (String, Box<RawValue>)| {
        let request = Members::of(&request)?;
        let params = request.get("params").map(|params| params.get().to_owned());
        Some(Step::Ask { method: request.text("method")?, params })
    };
    asked.unwrap_or_default().0.into_iter().filter_map(question).collect()
}
