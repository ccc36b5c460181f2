//! Our config on its way back: through the gateway that serves it, else in the file, and in the audit either way.

use std::cell::OnceCell;
use std::path::Path;

use manifold_setup::{ConfigKeeper, WriteError};

use super::super::config_change::ConfigWriter;
use super::super::verb::Verb;

/// Who writes our config. It is looked for once there is something to write.
pub(super) struct Keeper<'v> {
    verb: &'v Verb<'v>,
    words: String,
    writer: OnceCell<ConfigWriter<'v>>,
}

impl<'v> Keeper<'v> {
    pub(super) fn new(verb: &'v Verb<'v>, words: String) -> Self {
        Self { verb, words, writer: OnceCell::new() }
    }

    fn writer(&self) -> &ConfigWriter<'v> {
        // Where what runs has no config, the file is what helps it.
        self.writer.get_or_init(|| {
            ConfigWriter::reach(self.verb).unwrap_or_else(|_| ConfigWriter::of_files(self.verb))
        })
    }
}

impl ConfigKeeper for Keeper<'_> {
    fn serves(&self, file: &Path) -> bool {
        self.writer().serves(file)
    }

    fn write(&self, file: &Path, old: &str, new: &str) -> Result<bool, WriteError> {
        self.writer().put_text(file, old, new)
    }

    fn wrote(&self, file: &Path, old: Option<&[u8]>, new: Option<&[u8]>) {
        let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        self.writer().note_undo(file, &text(old), &text(new), &self.words);
    }
}
