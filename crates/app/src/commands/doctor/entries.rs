//! Mends entries of ours in other programs' files whose program is gone: they start this program again. `undo` takes it
//! back.

use std::path::Path;

use manifold_config::{Client, Plug, Server, Transport};
use manifold_setup::{Back, Changes, Journal, Rules, TargetFile, running};

use super::clients::{found, gone_program};
use super::context::{Context, Mended};

/// Says what was done to each entry, or why nothing was.
pub(super) fn mend(context: &Context<'_>) -> Vec<Mended> {
    let Some(journal) = context.environment().state_home().and_then(|home| Journal::open(&home).ok()) else {
        return vec![Err("left as they are: there is no folder to keep the old ones in".to_owned())];
    };
    let mut changes = journal.begin("doctor", "doctor --fix");
    let mut said = Vec::new();
    for file in found(context) {
        for server in file.ours().filter(|server| gone_program(server, context).is_some()) {
            let place = format!("{}: '{}'", file.path.display(), server.key.id);
            said.push(match one(context, &mut changes, file.client, &file.path, server) {
                Ok(program) => Ok(format!("{place} starts {program} now")),
                Err(why) => Err(format!("{place} is left as it is: {why}")),
            });
        }
    }
    let _ = changes.finish();
    said
}

fn one(
    context: &Context<'_>,
    changes: &mut Changes,
    client: &Client,
    path: &Path,
    server: &Server,
) -> Result<String, String> {
    let home = context.environment().home.clone().unwrap_or_default();
    if let Some(program) = client.rewritten_by().filter(|program| !running(program, &home).is_empty()) {
        return Err(format!("`{program}` runs and writes this file itself"));
    }
    let Transport::Process(spec) = &server.transport else { return Err("it starts nothing".to_owned()) };
    let program = context.environment().program.as_ref().ok_or("our own program is not found")?;
    let command = program.to_str().ok_or("our own program has a name that is no text")?.to_owned();
    let plug = Plug::Stdio { command: command.clone(), args: spec.args.clone(), env: Vec::new() };
    let home = context.environment().home.clone().ok_or("there is no home")?;
    let file = TargetFile::find(path, &Rules::Client { home }).map_err(|error| error.to_string())?;
    let old = file.read().map_err(|error| error.to_string())?.ok_or("it is gone")?;
    let text = std::str::from_utf8(&old).map_err(|error| error.to_string())?;
    let name = &server.key.id;
    // What is filled in from elsewhere must not be written out.
    let entry = client.entry_in(text, path, name).map_err(|error| error.to_string())?.unwrap_or_default();
    if entry.contains("${") || !spec.env.is_empty() {
        return Err(format!("it has more in it than we write; run `manifold install {}`", client.id()));
    }
    let new = client.put_entry(text, path, name, &plug).map_err(|error| error.to_string())?;
    let back = Back::entry(client.id(), name);
    changes.write(&file, Some(&old), new.as_bytes(), back).map_err(|error| error.to_string())?;
    Ok(command)
}
