//! What is told of calls, and how many there may be.

use std::path::PathBuf;
use std::time::Duration;

use crate::environment::Environment;
use crate::fields::Fields;
use crate::file::{Node, Value};
use crate::keys::table::{AUDIT, LIMITS, RATE, TELEMETRY};
use crate::model::{AuditTarget, CallAudit, METRICS_ADDRESS, RateRule, RateScope, TelemetrySettings};
use crate::problem::Problems;
use crate::secret::Secret;

pub(super) fn telemetry(top: Fields<'_>) -> TelemetrySettings {
    let Some(section) = top.section("telemetry", &TELEMETRY) else { return TelemetrySettings::default() };
    let headers = section.texts_by_name("headers").into_iter();
    TelemetrySettings {
        metrics: match section.flag("metrics") {
            Some(true) => Some(METRICS_ADDRESS.to_owned()),
            Some(false) => None,
            None => section.string("metrics").filter(|address| !address.is_empty()),
        },
        endpoint: section.string("endpoint").filter(|endpoint| !endpoint.is_empty()),
        headers: headers.map(|(name, value)| (name, Secret::new(value))).collect(),
        push_metrics: section.flag("pushMetrics").unwrap_or(false),
        sample_percent: section.number("samplePercent"),
        baggage: section.strings("baggage").unwrap_or_default(),
    }
}

/// Reads where every call is written down.
pub(super) fn audit(top: Fields<'_>, environment: &Environment) -> Option<CallAudit> {
    let section = top.section("audit", &AUDIT)?;
    let file = section.text("file")?;
    let to = match file.value.as_str() {
        "" => return None,
        "stdout" => AuditTarget::Stdout,
        _ => AuditTarget::File(PathBuf::from(section.path("file", environment)?)),
    };
    let payload = section.text("payload").is_some_and(|payload| payload.value == "redacted");
    Some(CallAudit { to, payload })
}

/// Reads `limits.rate`. `None`: a rule is not understood, and without it more would be allowed than was meant.
pub(super) fn rates(top: Fields<'_>, problems: &mut Problems) -> Option<Vec<RateRule>> {
    let Some(limits) = top.section("limits", &LIMITS) else { return Some(Vec::new()) };
    let items = limits.items("rate").unwrap_or_default();
    let mut rules = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match rule(item) {
            Ok(rule) => rules.push(rule),
            Err(what) => {
                let hint = "a rule is {\"per\": \"tool\", \"limit\": 60, \"window\": 60}".to_owned();
                problems.refuse(item.line, &format!("limits.rate[{at}]"), what, Some(hint));
                return None;
            }
        }
    }
    Some(rules)
}

fn rule(item: &Node) -> Result<RateRule, &'static str> {
    let Value::Object(object) = &item.value else { return Err("is no object") };
    let fields = Fields::new(object, &RATE);
    let per =
        fields.text("per").and_then(|per| RateScope::ALL.into_iter().find(|one| one.as_str() == per.value));
    Ok(RateRule {
        per: per.ok_or("needs `per`: `principal`, `namespace`, `server` or `tool`")?,
        pattern: fields.string("match"),
        limit: fields.number("limit").and_then(|limit| u32::try_from(limit).ok()).ok_or("needs `limit`")?,
        window: Duration::from_secs(fields.number("window").ok_or("needs `window`, in seconds")?),
    })
}
