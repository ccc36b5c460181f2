//! A text in the user's own editor.

use std::io::{Read as _, Write as _};
use std::process::Command;

/// Has a text edited. The terminal must be as the editor expects it.
pub fn edit(
    text: &str,
    kind: &str,
    editor: &[String],
    environment: &[(String, String)],
) -> Result<String, String> {
    let [program, args @ ..] = editor else {
        return Err("no editor is known; set EDITOR".to_owned());
    };
    let failed = |error: std::io::Error| format!("the editor `{program}` cannot be used: {error}");
    // Only the user may read it: arguments may be secrets.
    let mut file = tempfile::Builder::new()
        .prefix("manifold-")
        .suffix(&format!(".{kind}"))
        .tempfile()
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.flush().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(args).arg(file.path()).env_clear().envs(environment.iter().cloned());
    let status = command.status().map_err(failed)?;
    if !status.success() {
        return Err(format!("the editor `{program}` failed; nothing is changed"));
    }
    let mut edited = String::new();
    // Editors put a new file in the place of the old.
    let mut file = std::fs::File::open(file.path()).map_err(failed)?;
    file.read_to_string(&mut edited).map_err(failed)?;
    Ok(edited)
}
