//! Traffic in files: written, read, shown in other formats, compared, and played back as a server. No sockets here, and
//! no gateway: what is known of the traffic is `admin::Frame`.

mod canonical;
mod diff;
mod exchange;
mod export;
mod format;
mod jsonpath;
mod message;
mod name;
mod playback;
mod reader;
mod serve;
mod summary;
#[cfg(test)]
mod testing;
mod writer;

pub use canonical::canonical;
pub use diff::diff;
pub use exchange::{Exchange, Outcome, Side, exchanges};
pub use export::{Format, export};
pub use format::{EXTENSION, EndedBy, Footer, Header, HeaderServer};
pub use jsonpath::{Difference, Ignored, NoPath, differences};
pub use name::{NameError, check_name, file_in};
pub use playback::{Playback, PlaybackError, PlaybackOptions};
pub use reader::{ReadError, Recorded};
pub use serve::serve;
pub use summary::{list, summary};
pub use writer::{Limits, Open, Writer, open_file};
