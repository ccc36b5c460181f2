//! What to say of a request that was never recorded: what comes nearest to it.

use serde_json::value::RawValue;

use crate::canonical::canonical;
use crate::exchange::Exchange;
use crate::message::Members;

/// Longer arguments are cut in what is said.
const SHOWN_CHARS: usize = 300;

pub(super) fn message(exchanges: &[Exchange], method: &str, params: Option<&RawValue>) -> String {
    let of_method: Vec<&Exchange> = exchanges.iter().filter(|exchange| exchange.method == method).collect();
    let name = params.and_then(Members::of).and_then(|params| params.text("name"));
    let is_call = method == "tools/call";
    let same_tool = |exchange: &&&Exchange| !is_call || exchange.tool == name;
    let asked = shape(params, is_call);
    let mut near: Vec<(f64, String)> = of_method
        .iter()
        .filter(same_tool)
        .map(|exchange| shape(exchange.params.as_deref(), is_call))
        .map(|recorded| (strsim::normalized_levenshtein(&cut(&asked), &cut(&recorded)), recorded))
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let what = match &name {
        Some(name) if is_call => format!("a call of '{name}' with these arguments"),
        _ => format!("`{method}` with these parameters"),
    };
    match near.first() {
        Some((_, nearest)) => {
            format!("the recording has no answer to {what}; the nearest that was recorded: {}", cut(nearest))
        }
        None => {
            let mut names: Vec<&str> =
                of_method.iter().filter_map(|exchange| exchange.tool.as_deref()).collect();
            names.sort_unstable();
            names.dedup();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            match is_call {
                true => format!(
                    "the recording has no call of '{}'; recorded are calls of: {there}",
                    name.unwrap_or_default()
                ),
                false => format!("the recording has no answer to `{method}`"),
            }
        }
    }
}

/// Returns what is compared: the arguments of a call, the parameters of anything else.
fn shape(params: Option<&RawValue>, is_call: bool) -> String {
    let arguments = params.filter(|_| is_call).and_then(Members::of);
    match arguments {
        Some(members) => canonical(members.get("arguments")),
        None => canonical(params),
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= SHOWN_CHARS {
        return text.to_owned();
    }
    text.chars().take(SHOWN_CHARS).chain("…".chars()).collect()
}
