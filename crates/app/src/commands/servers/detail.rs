//! `get`: all there is to say of one server.

use manifold_admin::{Instance, ServerDetail};

use super::list::tone;
use super::{Verb, find};
use crate::commands::source::Need;
use crate::login::sign_in_line;
use crate::output::{Cell, Exit, Failure, Output, Record, bytes, counted, span};

pub(super) fn run(name: &str, verb: &Verb) -> Result<Exit, Failure> {
    let source = verb.reach(Need::Files)?;
    let snapshot = source.snapshot()?;
    let mut detail = snapshot.server_detail(find(&snapshot.servers, name)?);
    detail.answered_by = Some(source.kind().to_owned());
    show(&detail, &verb.output);
    Ok(Exit::Ok)
}

pub(super) fn show(detail: &ServerDetail, output: &Output) {
    match output.is_json() {
        true => output.json(detail),
        false => output.record(&record(detail)),
    }
}

pub(super) fn record(detail: &ServerDetail) -> Record {
    let row = &detail.row;
    let mut record = Record::default();
    record.add("id", &row.id);
    record.maybe("schema", row.schema.as_ref());
    if detail.name != row.id && !detail.name.is_empty() {
        record.add("name", &detail.name);
    }
    record.cell("state", Cell::new(row.state.as_str()).tone(tone(row.state)));
    record.maybe("why", detail.why.as_ref());
    record.maybe("hint", row.hint.as_ref());
    record.maybe("sign-in", row.sign_in.as_ref().filter(|one| one.state != "unknown").map(sign_in_line));
    record.add("kind", row.kind.as_str());
    record.maybe("command", detail.command.as_ref());
    record.maybe("url", detail.url.as_ref());
    record.add("start", detail.start.as_str());
    record.maybe("for", detail.since_ms.map(span));
    record.add("tools", if row.listed { row.tools.to_string() } else { "not known yet".to_owned() });
    record.maybe("definitions", detail.tool_bytes.map(|count| bytes(count as u64)));
    record.add("clients", row.clients.to_string());
    record.add("calls", format!("{}, {} failed", detail.calls, detail.errors));
    record.maybe("half within", detail.p50_us.map(micros));
    record.maybe("95 % within", detail.p95_us.map(micros));
    record.add("restarts", detail.restarts.to_string());
    record.maybe("memory", detail.memory_bytes.map(bytes));
    let pids: Vec<String> = detail.pids.iter().map(u32::to_string).collect();
    record.maybe("pids", (!pids.is_empty()).then(|| pids.join(", ")));
    for one in &detail.instances {
        record.add("instance", instance(one));
    }
    record.maybe("last error", detail.last_error.as_ref().map(|error| &error.text));
    for problem in &detail.problems {
        record.add("problem", problem.to_string());
    }
    record
}

fn instance(one: &Instance) -> String {
    let mut said = vec![one.state.as_str().to_owned()];
    said.extend(one.pid.map(|pid| format!("process {pid}")));
    said.extend(one.clients.map(|clients| counted(clients, "client")));
    said.extend(one.client.map(|client| format!("of client {client}")));
    if !one.differs.is_empty() {
        said.push(format!("differs in {}", one.differs.join(", ")));
    }
    said.extend(one.error.as_ref().map(|error| error.text.clone()));
    said.join(", ")
}

fn micros(us: u64) -> String {
    match us {
        0..1000 => format!("{us} µs"),
        1000..1_000_000 => format!("{} ms", us / 1000),
        _ => format!("{} s", us / 1_000_000),
    }
}
