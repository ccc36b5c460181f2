//! `doctor`: finds what is wrong, says the next command for it, and mends what is safe to mend.

mod checks;
mod clients;
mod config;
mod context;
mod entries;
mod files;
mod gateway;
mod machine;
mod needs;
mod processes;
mod secrets;
mod servers;
mod sockets;

use std::process::ExitCode;

use serde::Serialize;

use super::verb::Verb;
use crate::cli::DoctorArgs;
use crate::output::{Cell, Column, Exit, Table, Tone, counted};
use checks::CHECKS;
use context::{Context, Mended, word};

/// One thing that is looked at. Its id is what scripts and people know it by, so it never changes.
struct Check {
    id: &'static str,
    /// What is said where nothing is wrong.
    well: &'static str,
    run: fn(&Context<'_>) -> Outcome,
    /// Mends what is safe to mend, and says what it did.
    mend: Option<fn(&Context<'_>) -> Vec<Mended>>,
}

/// What came of looking.
enum Outcome {
    Well,
    /// It is well, and there is something to say of it.
    WellAs(String),
    Wrong(Vec<Trouble>),
}

/// Something that is wrong.
struct Trouble {
    status: Status,
    message: String,
    /// The next command.
    fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Ok,
    Warn,
    Fail,
}

#[derive(Serialize)]
pub(super) struct Finding {
    pub(super) id: &'static str,
    pub(super) status: Status,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fix: Option<String>,
    /// There is nothing to say of it.
    #[serde(skip)]
    is_plain: bool,
}

#[derive(Serialize)]
struct Report {
    checks: Vec<Finding>,
}

impl Trouble {
    fn warn(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: Status::Warn, message: message.into(), fix: Some(fix.into()) }
    }

    fn fail(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: Status::Fail, message: message.into(), fix: Some(fix.into()) }
    }
}

impl From<Vec<Trouble>> for Outcome {
    fn from(troubles: Vec<Trouble>) -> Self {
        if troubles.is_empty() { Self::Well } else { Self::Wrong(troubles) }
    }
}

impl From<Option<Trouble>> for Outcome {
    fn from(trouble: Option<Trouble>) -> Self {
        Vec::from_iter(trouble).into()
    }
}

pub(super) fn run(args: DoctorArgs, verb: Verb) -> ExitCode {
    verb.run(|verb| {
        verb.end_on_interrupt()?;
        let context = Context::new(verb);
        let looking = verb.output.progress("looking");
        let checks: Vec<Finding> =
            CHECKS.iter().flat_map(|check| findings(check, &context, args.fix)).collect();
        drop(looking);
        let fails = checks.iter().any(|finding| finding.status == Status::Fail);
        match verb.output.is_json() {
            true => verb.output.json(&Report { checks }),
            false => show(&checks, verb),
        }
        Ok(if fails { Exit::Failed } else { Exit::Ok })
    })
}

/// Makes some of the checks, by their ids.
pub(super) fn look(ids: &[&str], verb: &Verb) -> Vec<Finding> {
    let context = Context::new(verb);
    let checks = CHECKS.iter().filter(|check| ids.contains(&check.id));
    checks.flat_map(|check| findings(check, &context, false)).collect()
}

/// Looks, mends where that is asked for, and looks again: what is still wrong is told as it is.
fn findings(check: &Check, context: &Context<'_>, mends: bool) -> Vec<Finding> {
    let mut troubles = match (check.run)(context) {
        Outcome::Well => return vec![Finding { is_plain: true, ..check.well(check.well.to_owned()) }],
        Outcome::WellAs(message) => return vec![check.well(message)],
        Outcome::Wrong(troubles) => troubles,
    };
    let mut told_before = Vec::new();
    if let Some(mend) = check.mend.filter(|_| mends) {
        let (done, failed): (Vec<Mended>, Vec<Mended>) = mend(context).into_iter().partition(Result::is_ok);
        let done: Vec<String> = done.into_iter().flatten().collect();
        let failed: Vec<String> = failed.into_iter().filter_map(Result::err).collect();
        troubles = match (check.run)(context) {
            Outcome::Wrong(troubles) => troubles,
            _ => Vec::new(),
        };
        if troubles.is_empty() {
            return vec![check.well(format!("mended: {}", done.join("; ")))];
        }
        // Some of it is mended, and some is not: both are told.
        if !done.is_empty() {
            told_before.push(check.well(format!("mended: {}", done.join("; "))));
        }
        if let (Some(first), false) = (troubles.first_mut(), failed.is_empty()) {
            first.message = format!("{}; not mended: {}", first.message, failed.join("; "));
        }
    }
    let told = |trouble: Trouble| Finding {
        id: check.id,
        status: trouble.status,
        message: trouble.message,
        fix: trouble.fix.map(|fix| of_same_config(fix, context)),
        is_plain: false,
    };
    told_before.into_iter().chain(troubles.into_iter().map(told)).collect()
}

/// Has a command of ours be about the config that was looked at, where that was named.
fn of_same_config(fix: String, context: &Context<'_>) -> String {
    let named = context.options().path.as_ref().filter(|_| fix.starts_with("manifold "));
    // A file that is to be checked stands in its place.
    match named.filter(|_| !fix.starts_with("manifold config check ")) {
        Some(path) if !fix.contains(" --config ") => {
            format!("{fix} --config {}", word(&context.environment().cwd.join(path)))
        }
        _ => fix,
    }
}

impl Check {
    fn well(&self, message: String) -> Finding {
        Finding { id: self.id, status: Status::Ok, message, fix: None, is_plain: false }
    }
}

/// People see what there is to say; all of it with `-v`.
fn show(findings: &[Finding], verb: &Verb) {
    let shown: Vec<&Finding> =
        findings.iter().filter(|finding| verb.flags.verbose || !finding.is_plain).collect();
    if !shown.is_empty() {
        verb.output.table(&table(&shown));
    }
    let count = |status| findings.iter().filter(|finding| finding.status == status).count();
    let (warn, fail) = (count(Status::Warn), count(Status::Fail));
    verb.output.remark(&format!(
        "{} checks, {}, {}",
        CHECKS.len(),
        counted(warn, "warning"),
        counted(fail, "failure")
    ));
}

fn table(findings: &[&Finding]) -> Table {
    let mut table =
        Table::new([Column::id("STATUS"), Column::id("CHECK"), Column::text("WHAT"), Column::text("NEXT")]);
    for finding in findings {
        let (word, tone) = match finding.status {
            Status::Ok => ("ok", Tone::Plain),
            Status::Warn => ("warn", Tone::Plain),
            Status::Fail => ("fail", Tone::Bad),
        };
        table.row([
            Cell::new(word).tone(tone),
            Cell::new(finding.id),
            Cell::new(&finding.message),
            finding.fix.as_ref().into(),
        ]);
    }
    table
}
