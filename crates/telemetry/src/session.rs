//! Sessions, told apart without saying more of them: an id lets whoever has it in.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use manifold_engine::CallRecord;
use sha2::{Digest as _, Sha256};

/// Sessions on a pipe have no id, and their numbers begin anew in each process.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("process"));

/// Returns what stands for the session of a call, if it has one: the same at every replica, another after a restart.
pub(crate) fn session(record: &CallRecord) -> Option<String> {
    let client = record.client.filter(|_| record.has_session)?;
    let digest = match &record.session {
        Some(id) => Sha256::digest(id.as_bytes()),
        None => Sha256::digest([PROCESS.to_be_bytes(), client.0.to_be_bytes()].concat()),
    };
    Some(digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use manifold_engine::ClientId;
    use manifold_protocol::Method;

    use super::*;
    use crate::calls::tests::record;

    #[tokio::test]
    async fn a_session_is_called_the_same_by_whoever_serves_it() {
        let of = |client: u64, id: Option<&str>| {
            let mut record = record(Method::ToolsList, None);
            record.has_session = true;
            (record.client, record.session) = (Some(ClientId(client)), id.map(Into::into));
            session(&record).unwrap()
        };
        assert_eq!(of(0, Some("a")), of(7, Some("a")), "numbers are each replica's own");
        assert_ne!(of(0, Some("a")), of(0, Some("b")));
        assert_ne!(of(0, None), of(1, None));
        let bare = &Sha256::digest(0u64.to_be_bytes())[..8];
        let bare: String = bare.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_ne!(of(0, None), bare, "the first of every process would be called so");
        assert_eq!(session(&record(Method::ToolsList, None)), None);
    }
}
