//! What one replica tells the others.

use serde::{Deserialize, Serialize};

/// Something that others may have to follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "what")]
pub(crate) enum News {
    /// What is noted of a session has changed. Who has followed says so by the number, if there is one.
    Noted {
        sid: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u64>,
    },
    /// What was told by this number has been followed.
    Followed { number: u64 },
    /// A session is over.
    Over { sid: String },
    /// Its client listens elsewhere now.
    Taken { sid: String },
    /// A client takes a call back that it may have made elsewhere; `id` is the call's, as JSON.
    Cancelled { sid: String, id: String },
}

#[derive(Serialize, Deserialize)]
struct Letter {
    from: u32,
    #[serde(flatten)]
    news: News,
}

impl News {
    pub(crate) fn encode(self, from: u32) -> String {
        serde_json::to_string(&Letter { from, news: self }).unwrap_or_default()
    }

    /// Reads what another has told; what it does not understand, a later version may.
    pub(crate) fn read(text: &str, me: u32) -> Option<Self> {
        let letter: Letter = serde_json::from_str(text).ok()?;
        (letter.from != me).then_some(letter.news)
    }
}
