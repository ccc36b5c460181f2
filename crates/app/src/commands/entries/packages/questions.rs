//! What a server has to know, asked at the terminal.

use manifold_registry::{Answer, Question};

use super::super::ask::{hidden_line, line, tell};
use super::answers::{Told, described};
use crate::output::{Exit, Failure};

/// Asks for what must be known, and for secrets; the rest is only named.
pub(super) fn ask(questions: &[Question], told: &mut Told) -> Result<(), Failure> {
    let mut others = Vec::new();
    for question in questions {
        if told.has(question) {
            continue;
        }
        if question.required || question.secret {
            one(question, told)?;
        } else {
            others.push(question.name.as_str());
        }
    }
    if !others.is_empty() {
        tell(&format!("more can be said by --set NAME=VALUE: {}", others.join(", ")));
    }
    Ok(())
}

/// Asks until the answer is good. Enter takes the default, or leaves out what need not be known.
fn one(question: &Question, told: &mut Told) -> Result<(), Failure> {
    tell(&described(question));
    let mut answered = false;
    loop {
        let Some(typed) = typed(question) else {
            let message = format!("`{}` was not answered", question.name);
            return Err(Failure::new(Exit::Failed, "failed", message).hint("nothing was written"));
        };
        if typed.is_empty() {
            if answered || !question.required || !question.default.is_empty() {
                return Ok(());
            }
            tell("it has to be known");
            continue;
        }
        // What stands for a secret is checked when it has a name.
        let checked = if question.secret { Ok(()) } else { question.check(&Answer::Text(typed.clone())) };
        if let Err(why) = checked {
            tell(&why.to_string());
            continue;
        }
        told.add(&question.name, typed);
        if !question.repeated {
            return Ok(());
        }
        answered = true;
    }
}

fn typed(question: &Question) -> Option<String> {
    let name = &question.name;
    if question.secret {
        return hidden_line(&format!("{name}, not shown as it is typed: "));
    }
    let default = match question.default.join(", ") {
        default if default.is_empty() => String::new(),
        default => format!(" [{default}]"),
    };
    let example = question.placeholder.as_ref().map(|example| format!(" (such as {example})"));
    let more = if question.repeated { ", one at a time, Enter ends" } else { "" };
    line(&format!("{name}{default}{}{more}: ", example.unwrap_or_default()))
}
