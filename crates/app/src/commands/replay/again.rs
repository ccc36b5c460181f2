//! Recorded calls made again, through the gateway that runs, or one of the command's own.

use manifold_admin::{Hop, ReplayReport, ReplayedCall, ResultDifference};
use manifold_recording::{Exchange, Ignored, Outcome, Recorded, Side, differences, exchanges};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::commands::call::{Again, Hints, Whom};
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure, Form, Output, counted};

/// What each era puts on results, and what differs with each asking.
const MARKS: [&str; 2] = ["$.resultType", "$._meta"];

/// How calls are made again.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) whom: Whom,
    /// Also those that may change something.
    pub(super) yes: bool,
}

/// Makes one call again and shows what it gives now.
pub(super) fn call(recorded: &Recorded, number: u64, how: How, verb: &Verb) -> Result<Exit, Failure> {
    let calls = calls(recorded);
    let Some(exchange) = calls.iter().find(|exchange| exchange.call == Some(number)) else {
        let numbers: Vec<String> =
            calls.iter().filter_map(|call| call.call).take(20).map(|call| call.to_string()).collect();
        let hint = if numbers.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}", numbers.join(", "))
        };
        let message = format!("the recording has no tool call {number}");
        return Err(Failure::new(Exit::Unknown, "unknown-item", message).hint(hint));
    };
    if exchange.is_redacted {
        let message = format!("call {number} had something secret taken out, so it cannot be made again");
        return Err(Failure::new(Exit::Failed, "failed", message).hint("use `manifold call`"));
    }
    let again = Again::reach(how.whom, verb)?;
    let tool = exchange.tool.as_deref().unwrap_or_default();
    // Where servers are started for it, no others are than the one that has the tool.
    let mut of_call =
        recorded.frames().filter(|frame| frame.hop == Hop::Server && frame.call == Some(number));
    let server = of_call.find_map(|frame| frame.server.as_deref());
    let hints = again.hints(server)?;
    if !how.yes
        && let Some(why) = refusal(hints.get(tool))
    {
        let message = format!("call {number} is of '{tool}', which {why}");
        return Err(Failure::new(Exit::Denied, "denied", message).hint("add --yes to make it all the same"));
    }
    let result = again.call(tool, exchange.arguments())?;
    verb.output.text(&format!("{}\n", crate::output::escaped_json(result.get())));
    let is_error = Told::of(&result).is_error;
    Ok(if is_error { Exit::ToolError } else { Exit::Ok })
}

/// Makes all calls again that may be, and says where what they give differs.
pub(super) fn verify(
    recorded: &Recorded,
    ignored: &[Ignored],
    how: How,
    verb: &Verb,
) -> Result<Exit, Failure> {
    let marks = MARKS.iter().filter_map(|path| Ignored::parse(path).ok());
    let ignored: Vec<Ignored> = ignored.iter().cloned().chain(marks).collect();
    let again = Again::reach(how.whom, verb)?;
    let hints = again.hints(None)?;
    let mut report = ReplayReport { same: true, calls: Vec::new() };
    for exchange in calls(recorded) {
        let tool = exchange.tool.clone().unwrap_or_default();
        let mut replayed = ReplayedCall { call: exchange.call, tool, ..ReplayedCall::default() };
        replayed.skipped = skipped(&exchange, hints.get(&replayed.tool), how.yes);
        if replayed.skipped.is_none() {
            let now = again.call(&replayed.tool, exchange.arguments());
            replayed.differences = compare(&exchange, now, &ignored)?;
        }
        report.same &= replayed.differences.is_empty();
        report.calls.push(replayed);
    }
    match verb.output.form() {
        Form::Json => verb.output.json(&report),
        _ => show(&report, &verb.output),
    }
    if report.calls.iter().all(|call| call.skipped.is_some()) {
        let message = "nothing was verified: no call of the recording was made again";
        let hint = "a recording keeps the calls its filter matches; add --yes for tools that do not say they only read";
        return Err(Failure::new(Exit::Failed, "failed", message).hint(hint));
    }
    Ok(if report.same { Exit::Ok } else { Exit::Failed })
}

fn calls(recorded: &Recorded) -> Vec<Exchange> {
    let mut calls = exchanges(recorded, &Side::Client);
    calls.retain(|exchange| exchange.method == "tools/call" && exchange.tool.is_some());
    calls
}

/// Says why a call is not made again, if it is not.
fn skipped(exchange: &Exchange, hints: Option<&Hints>, yes: bool) -> Option<String> {
    if exchange.outcome.is_none() || !exchange.is_whole() {
        return Some("no whole answer was recorded, or it was asked something".to_owned());
    }
    if exchange.is_redacted {
        return Some("something secret was taken out of it".to_owned());
    }
    match hints {
        // Whether it is still there is what is to be found out.
        None => None,
        Some(hints) if hints.read_only || yes => None,
        Some(_) => Some("its tool does not say that it only reads; add --yes to call it".to_owned()),
    }
}

/// Says why a call is not made again unless somebody says yes.
fn refusal(hints: Option<&Hints>) -> Option<&'static str> {
    match hints {
        Some(hints) if hints.read_only => None,
        Some(Hints { destructive: Some(false), .. }) => None,
        Some(Hints { destructive: Some(true), .. }) => Some("says that it may destroy something"),
        Some(_) => Some("does not say that it only reads"),
        // The gateway says that there is none.
        None => None,
    }
}

fn compare(
    exchange: &Exchange,
    now: Result<Box<RawValue>, Failure>,
    ignored: &[Ignored],
) -> Result<Vec<ResultDifference>, Failure> {
    let whole = |before: &str, after: String| {
        let (before, after) = (Some(before.to_owned()), Some(after));
        vec![ResultDifference { path: "$".to_owned(), before, after }]
    };
    Ok(match (&exchange.outcome, now) {
        (_, Err(failure)) if failure.exit == Exit::Interrupted => return Err(failure),
        (Some(Outcome::Result(before)), Ok(after)) => {
            let found = differences(before, &after, ignored).into_iter();
            found
                .map(|one| ResultDifference { path: one.path, before: one.before, after: one.after })
                .collect()
        }
        (Some(Outcome::Result(before)), Err(failure)) => whole(before.get(), failure.message),
        (Some(Outcome::Error(before)), Ok(after)) => whole(before.get(), after.get().to_owned()),
        // It failed then as it does now.
        (Some(Outcome::Error(_)) | None, _) => Vec::new(),
    })
}

fn show(report: &ReplayReport, output: &Output) {
    for call in &report.calls {
        let number = call.call.map(|number| format!(" (call {number})")).unwrap_or_default();
        for difference in &call.differences {
            let side = |value: &Option<String>| value.as_deref().map_or("nothing".to_owned(), shortened);
            let (before, after) = (side(&difference.before), side(&difference.after));
            output.line(&format!("{}{number} {}: {before} → {after}", call.tool, difference.path));
        }
        if let Some(why) = &call.skipped {
            output.remark(&format!("{}{number} was left out: {why}", call.tool));
        }
    }
    let made = report.calls.iter().filter(|call| call.skipped.is_none()).count();
    let differ = report.calls.iter().filter(|call| !call.differences.is_empty()).count();
    output.remark(&format!("{} made again, {differ} differ", counted(made, "call")));
}

fn shortened(json: &str) -> String {
    const SHOWN_CHARS: usize = 120;
    if json.chars().count() <= SHOWN_CHARS {
        return json.to_owned();
    }
    json.chars().take(SHOWN_CHARS).chain("…".chars()).collect()
}

/// What a result says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Told {
    is_error: bool,
}

impl Told {
    fn of(result: &RawValue) -> Self {
        serde_json::from_str(result.get()).unwrap_or_default()
    }
}
