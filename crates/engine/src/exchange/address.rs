//! Where an answer goes when the process that took the call has been replaced meanwhile, and what is still to be done
//! with it on its way.

use manifold_protocol::Raw;

use super::Exchange;

/// Where the answer of a call goes, said so that another process can find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnAddress {
    /// The asker's session, by the name it is taken up again with.
    pub session: String,
    /// The asker's own id of the call, as it wrote it.
    pub id: Raw,
    /// What is done with the answer before the asker gets it, the first thing first.
    pub steps: Vec<AnswerStep>,
}

/// Something done with an answer on its way to the asker; [`Gateway::finish_answer`](crate::Gateway::finish_answer) does
/// it where the exchange that would have is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerStep {
    /// Structured content of any kind passes.
    AllowAnyStructured,
    /// A task that was begun gets the id by which clients know it, and an owner.
    NameTask { server: String, is_shared: bool },
    /// The task it is about gets the id by which clients know it.
    ExposeTask { server: String },
    /// What was read gets the address it was asked for by.
    RenameContents { original: String, exposed: String },
}

/// Opens the askers' ends of calls that another process took.
pub trait Reopen: Send + Sync {
    /// Opens an exchange whose answer goes to this address, and keeps its handle to cancel by. `None`: nobody waits for it
    /// any more.
    fn reopen(&self, address: ReturnAddress) -> Option<Exchange>;
}
