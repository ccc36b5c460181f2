//! What an operator may see of a gateway and do with it, as plain types with one JSON form: the command line, the
//! terminal and the page say the same words. Nothing here acts, and nothing here can hold a secret: of variables and
//! headers there are names, of arguments a count, of an address its origin.
//!
//! The rules of the JSON: members are camelCase and carry their unit (`sinceMs`); what is not known is left out; a
//! reader ignores members it does not know and takes a word it does not know for `other`, so that an older client
//! reads a newer gateway. Members are only ever added.

mod about;
mod ask;
mod audit;
mod command;
mod error;
mod escape;
mod event;
mod file;
mod item;
mod log;
mod permission;
mod routes;
mod rows;
mod snapshot;
mod traffic;
mod web;
mod words;

#[cfg(test)]
mod tests;

pub use about::{API, About, ApiVersions, GatewayKind, NotUpgraded};
pub use ask::{
    AskEvent, AskOptions, AskerEnvironment, CallRequest, CompleteRequest, ENVIRONMENT_HEADER, PromptRequest,
    QuestionAnswer, ReadRequest, STALE_HEADER, STALE_IS_TRIED_AGAIN, UNDO_BY_ASKER, UNDO_HEADER,
};
pub use audit::{Actor, AuditLine, AuditOutcome, VERB_HEADER};
pub use command::{Command, CommandError, ErrorBody, ErrorCode, ItemKind, Outcome, ReloadReport};
pub use error::{Error, Problem, Reason, Severity};
pub use escape::{escaped_line, escaped_text, is_unsafe};
pub use event::{
    CallBegan, CallEnded, CallOutcome, CallStage, ClientChange, ConfigChange, Cursor, Event, Happening,
    NoCursor, RecordingChange, StreamItem,
};
pub use file::{ConfigChanged, ConfigCheck, ConfigFile, ConfigText, ServerRename};
pub use item::{FailedServer, ItemPage, ListedItem};
pub use log::LogLine;
pub use permission::{DecidedBy, NamespacePermissions, PermissionChange, PermissionRule, ToolPermission};
pub use routes::{Effect, Method, ROUTES, Route};
pub use rows::{
    ClientRow, ConfigReport, CopiedCredential, DaemonHttp, DaemonInstance, DaemonOrdered, DaemonServer,
    DaemonStatus, Disconnected, DoctorCheck, DoctorReport, DoctorStatus, EntriesChanged, ErrorLine, ErrorRow,
    FailedClient, FoundEntry, ImportReport, InitReport, InstalledRow, ItemRow, LeftFile, LoginReport,
    LogoutReport, NamespaceDetail, NamespaceRow, NoDaemon, RegistryRow, RegistryWay, Running, RunningDaemon,
    SecretChanged, SecretRow, SecretsReport, ServerDetail, ServerRow, ShownConfig, SkippedEntry,
    StatusReport, StoreCopied, StoreRekeyed, TokenChanged, TokenRow, UndoReport, UndoRow, UnreadFile,
};
pub use snapshot::client::{Client, Principal};
pub use snapshot::namespace::{Namespace, PermissionSummary, RuleCounts};
pub use snapshot::server::{Calls, Instance, Lists, Protocol, Saved, Server, ServerId, Sharing, Target};
pub use snapshot::sign_in::{LoginLink, SignIn};
pub use snapshot::{ConfigSource, DegradedPart, Gateway, Listener, Snapshot};
pub use traffic::{
    CallDifference, Direction, Filter, FilterError, Frame, FrameClient, FrameKind, FrameStatus, Hop, Matcher,
    RecordedCall, Recording, RecordingDetail, RecordingDiff, RecordingStart, ReplayReport, ReplayedCall,
    ResultDifference, ToolChange, TrafficItem,
};
pub use web::{PageScope, SetupChange, WebCode, WebGrant, WebOpened, WebSession, WebToken};
pub use words::{ClientTransport, Era, Format, Kind, Start, State};
