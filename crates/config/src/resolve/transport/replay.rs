//! A recording as a server: our own program, which answers from the file.

use std::path::Path;

use super::{Wrong, process, wrong};
use crate::expand::Text;
use crate::fields::Fields;
use crate::model::{ProcessDialect, Transport};
use crate::resolve::Surroundings;

/// For whom a recording stands in, and where.
#[derive(Clone, Copy)]
pub(in crate::resolve) struct Recording<'a> {
    pub(in crate::resolve) id: &'a str,
    /// The config, beside which its files are looked for.
    pub(in crate::resolve) config: Option<&'a Path>,
}

pub(super) fn replay(
    fields: Fields<'_>,
    file: &Text,
    recording: Recording<'_>,
    start: Surroundings<'_>,
) -> Result<Transport, Wrong> {
    let Transport::Process(mut spec) = process(fields, file, ProcessDialect::Mcp, start)? else {
        return Err(wrong("cannot be replayed", "name a file with `replay`"));
    };
    let Some(program) = &start.own.program else {
        return Err(wrong(
            "cannot be replayed, as it is not known which program runs",
            "start it by its path",
        ));
    };
    let folder = recording.config.and_then(Path::parent).map(|folder| start.own.cwd.join(folder));
    let folder = folder.unwrap_or_else(|| start.own.cwd.clone());
    let file = folder.join(file.with_home(start.environment));
    let more = std::mem::take(&mut spec.args);
    spec.command = program.to_string_lossy().into_owned();
    spec.args =
        ["replay", &file.to_string_lossy(), "--serve", "--server", recording.id].map(str::to_owned).into();
    spec.args.extend(more);
    // It is the same wherever its client is.
    (spec.cwd, spec.in_client_folder) = (Some(folder), false);
    Ok(Transport::Process(spec))
}
