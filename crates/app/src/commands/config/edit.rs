//! `config edit`: the config in the user's own editor. What comes back is judged before it takes the place of what stood
//! there; what is refused is not lost, but edited again.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use manifold_config::{Edit, Environment};

use crate::commands::config_change::{ConfigWriter, Missing, Purpose};
use crate::commands::entries::{Report, is_somebody_there, line};
use crate::commands::record::Record;
use crate::commands::tui::editor;
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure};

pub(in crate::commands) fn edit(verb: &Verb) -> Result<Exit, Failure> {
    let writer = ConfigWriter::reach(verb)?;
    let base = writer.base(Missing::BuiltIn)?;
    let purpose = Purpose { verb: "config edit", target: String::new(), is_dry_run: false };
    let kind = base.path.extension().and_then(|kind| kind.to_str()).unwrap_or("json");
    let mut text = base.text.clone();
    loop {
        text = edited(&text, kind, &verb.options.environment)?;
        if text == base.text {
            verb.output.remark("the config is as it was");
            return Ok(Exit::Ok);
        }
        let mut record = Record::of(verb, "config", "config edit")?;
        let changed = writer.change(&purpose, Missing::BuiltIn, &mut record, |now| {
            if now.revision == base.revision {
                return Ok(vec![Edit::Text(text.clone())]);
            }
            // What was typed was thought of for another text, and is put in no other's place.
            let message = format!("{} has changed since it was opened", now.path.display());
            Err(Failure::new(Exit::Usage, "changed", message))
        });
        record.finish(&verb.output);
        let refused = match changed {
            Ok(changed) => {
                let mut report = Report::new(&changed, writer.kind(), false);
                report.line(format!("{} has been saved", changed.base.path.display()));
                report.show(&verb.output);
                return Ok(Exit::Ok);
            }
            Err(refused) => refused,
        };
        if !is_wanted_again(&refused) {
            return Err(kept(refused, &text, kind, &verb.options.environment));
        }
    }
}

fn edited(text: &str, kind: &str, environment: &Environment) -> Result<String, Failure> {
    let vars: Vec<(String, String)> =
        environment.vars.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    manifold_tui::edit(text, kind, &editor(environment), &vars)
        .map_err(|why| Failure::new(Exit::Failed, "editor", why))
}

/// Says why it was refused, and asks what next. Without a terminal nobody can correct it.
fn is_wanted_again(refused: &Failure) -> bool {
    if !is_somebody_there() {
        return false;
    }
    let typed = line(&format!("{}\nEdit it again? [Y/n] ", refused.message));
    typed.is_some_and(|typed| !["n", "no"].contains(&typed.trim().to_ascii_lowercase().as_str()))
}

/// Keeps what was typed where only the user may read it, so that it is not lost.
fn kept(refused: Failure, text: &str, kind: &str, environment: &Environment) -> Failure {
    let Some(state) = environment.state_home() else { return refused };
    let path = state.join("manifold").join(format!("refused-config.{kind}"));
    let write = || -> io::Result<()> {
        fs::create_dir_all(state.join("manifold"))?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW);
        options.open(&path)?.write_all(text.as_bytes())
    };
    match write() {
        Ok(()) => refused.hint(format!("nothing is changed; what was typed is in {}", path.display())),
        Err(_) => refused,
    }
}
