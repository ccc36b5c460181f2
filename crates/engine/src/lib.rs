//! Every decision of the gateway: what is offered, where a call goes, whether it may. No socket, no process, no
//! HTTP type and no protocol era is known here, so decisions are tested with fakes and a paused clock.

mod arguments;
mod audience;
mod budget;
pub mod busy_poll;
mod catalog;
mod changes;
mod control;
mod cpu_time;
mod delegate;
mod discovery;
mod exchange;
#[cfg(test)]
mod fake;
mod feed;
mod fleet;
mod gateway;
mod health;
mod logins;
mod observe;
mod outbox;
mod policy;
mod principal;
mod rate;
mod resolution;
mod router;
mod sync;
mod tasks;
mod traffic;
mod upstream;

/// The names clients see, within reach of the fuzz target.
#[doc(hidden)]
pub mod names {
    pub use crate::catalog::{Naming, may_be_hashed, readings};
}

pub use audience::Audience;
pub use budget::{Budget, Share};
pub use changes::{Client, ClientAbout, ClientId, Level, MAX_SUBSCRIPTION_BYTES, MAX_SUBSCRIPTIONS};
pub use control::{
    Control, Followed, INHERIT_ADVICE, InstanceRow, LogFollower, NamespaceControl, NamespaceRow,
    NamespaceTable, ProcessTable, Program, ReloadReport, ReloadRow, Reloader, ServerRow, Usage,
    command_error, configured, configured_permissions, reload_report, shown_sign_in,
};
pub use exchange::{
    AnswerStep, CallHandle, Cancel, Exchange, Reach, Reopen, RequestWords, ReturnAddress, Sink, Target,
};
pub use feed::{Events, Topics};
pub use fleet::{Fleet, InstanceKey, Outdated};
pub use gateway::{FoundItem, Gateway, Introduction, ItemQuery, KnownTool, NotFound, Opening};
pub use health::{Fitness, Health};
pub use logins::{Logins, OpenLogin};
pub use observe::{
    CallEnd, CallRecord, Observer, Observers, Outcome, SpanContext, SpanId, Trace, TraceId, TraceOptions,
    Tracer, add_transport,
};
pub use outbox::{Outbox, YIELD_EVERY};
pub use principal::{Access, ClientProcess, Grants, Principal, Requester, User, Wish};
pub use rate::{RateAsk, RateLimits, RateStore, RateVerdict};
pub use resolution::Resolution;
pub use sync::Lock;
pub use tasks::Tasks;
pub use traffic::{
    Direction, FrameStatus, Hop, Link, Party, RECORDED_BODY_BYTES, SubscribeOptions, Subscription, Tap,
    Traffic, TrafficPlace, WATCHED_BODY_BYTES,
};
pub use upstream::{
    Addressee, BoxFuture, CallTally, ClientFacts, Connector, History, Host, InstanceReport, Item, Listing,
    LoggedLine, Missing, Order, Phase, SignInReport, Standing, Status, Upstream, Withheld,
};
