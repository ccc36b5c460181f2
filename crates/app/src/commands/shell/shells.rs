//! How each shell asks and is answered. What is offered comes from servers and from folders, and what a shell does with it
//! is not ours: bash puts it on the command line as it is, where `$(…)` or `;` in it would be run. So a word with anything
//! in it but letters, digits and a few signs that mean nothing to any shell is not offered at all (T27).

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::engine::{CompletionCandidate, complete};
use clap_complete::env::{EnvCompleter, Fish, Zsh};

/// Says where the cursor is, in zsh, which tells the words behind it too.
const CURSOR: &str = "_CLAP_COMPLETE_INDEX";

/// Bash cuts words at `=`, `:` and `@` and replaces what is behind the last of them: the pieces that have nothing between
/// them are put together again, and what bash has already is taken off what is offered.
const BASH: &str = r#"
_NAME_complete() {
    local line=$COMP_LINE words=() word gap i last=-1
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        gap=${line%%"$word"*}
        line=${line:$((${#gap} + ${#word}))}
        if ((i == COMP_CWORD)) && [[ $word == "$2"* && (-n $2 || $word != [=:@]*) ]]; then
            word=$2
        fi
        if ((last >= 0)) && [[ -z $gap && -n ${COMP_WORDS[i]} ]]; then
            words[last]+=$word
        else
            last=$((last + 1))
            words[last]=$word
        fi
    done
    local had=${words[last]%"$2"}
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("${word#"$had"}")
    done < <(VAR=bash COMPLETER -- "${words[@]}" 2> /dev/null)
    if [[ ${words[last]} == *=@* ]]; then
        compopt -o default 2> /dev/null
    fi
    if [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[=/:] ]]; then
        compopt +o nospace 2> /dev/null
    fi
}
if [[ ${BASH_VERSINFO[0]} -gt 4 || ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _NAME_complete BIN
else
    complete -o nospace -o bashdefault -F _NAME_complete BIN
fi
"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl EnvCompleter for Shell {
    fn name(&self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }

    fn is(&self, name: &str) -> bool {
        name == self.name()
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            Self::Zsh => Zsh.write_registration(var, name, bin, completer, out),
            Self::Fish => Fish.write_registration(var, name, bin, completer, out),
            Self::Bash => {
                let script = BASH.replace("NAME", name).replace("BIN", bin);
                out.write_all(script.replace("COMPLETER", completer).replace("VAR", var).as_bytes())
            }
        }
    }

    fn write_complete(
        &self,
        command: &mut Command,
        mut words: Vec<OsString>,
        folder: Option<&Path>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let at = cursor().unwrap_or(words.len().saturating_sub(1));
        if words.len() == at {
            words.push(OsString::new());
        }
        let mut offered = complete(command, words, at, folder)?;
        offered.retain(|candidate| candidate.get_value().to_str().is_some_and(is_harmless));
        for candidate in &offered {
            writeln!(out, "{}", self.line(candidate))?;
        }
        Ok(())
    }
}

impl Shell {
    fn line(self, candidate: &CompletionCandidate) -> String {
        let value = candidate.get_value().to_string_lossy();
        let help = candidate.get_help().map(ToString::to_string);
        let help = help.as_deref().and_then(|help| help.lines().next());
        match (self, help) {
            (Self::Bash, _) | (Self::Fish, None) => value.into_owned(),
            (Self::Fish, Some(help)) => format!("{value}\t{help}"),
            (Self::Zsh, None) => value.replace(':', "\\:"),
            (Self::Zsh, Some(help)) => {
                format!("{}:{}", value.replace(':', "\\:"), help.replace('\\', "\\\\"))
            }
        }
    }
}

/// Returns which word the cursor is in, if the shell says so: else it is the last.
pub(super) fn cursor() -> Option<usize> {
    env::var(CURSOR).ok()?.parse().ok()
}

/// Returns whether a word means itself to every shell, and shows what it is.
pub(super) fn is_harmless(word: &str) -> bool {
    let is_sign = |c: char| "_-./:@%+,=".contains(c);
    // Letters without a shape.
    let is_filler = |c: char| matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
    // `=name` is the path of a program to zsh.
    !word.starts_with('=') && word.chars().all(|c| is_sign(c) || (c.is_alphanumeric() && !is_filler(c)))
}
