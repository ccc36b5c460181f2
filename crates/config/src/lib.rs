//! The configuration file as written, and the checked `Config` made from it.

mod alike;
mod check;
mod client_environment;
mod clients;
mod diff;
mod edit;
mod environment;
mod expand;
mod fields;
mod file;
mod identity;
mod import;
mod keys;
mod load;
mod meant;
mod model;
mod nesting;
mod problem;
mod profile;
mod redact;
mod resolve;
mod schema;
mod secret;
mod secrets;
mod select;
mod started_with;
mod syntax;
#[cfg(test)]
mod testing;
mod variables_used;

pub use alike::{did_you_mean, distance, most_alike};
pub use client_environment::{ClientEnvironment, is_base_variable, project_root};
pub use clients::{Client, OwnCommand, Plug, Scope, Sure, ToolLimits, Writing, client, clients};
pub use diff::{Difference, diff, same_but_for_start, same_connection};
pub use edit::{Edit, EditError, PermissionKind, Reverted, apply, revert};
pub use environment::Environment;
pub use identity::generate_id;
pub use import::{
    FoundServer, ImportPlan, LiteralSecret, Outcome, PlannedServer, Question, Scan, files_to_import,
    find_servers, plan_import, read_to_import, servers_in,
};
pub use load::{LoadError, LoadOptions, OwnPort, config_path, load, load_text, stand_in, written};
pub use model::*;
pub use nesting::{ABOVE, Nesting};
pub use problem::{Problem, Severity};
pub use profile::{
    Bare, Defaults, ErrorCodes, Profile, PromptPrefix, StartPolicy, UserPath, ValidateArguments,
    default_config_path,
};
pub use redact::{Redactor, redact, redact_cut, redactor};
pub use resolve::RUNS_AT_EACH;
pub use schema::schema;
pub use secret::Secret;
pub use secrets::{SecretSource, Secrets};
pub use select::{How, Selection, select_namespace};
pub use started_with::{StartedWith, hash_seed, restore_hash_seed, started_with};
pub use variables_used::{
    VariablesUsed, secret_variables, secrets_used_in, variables_used, variables_used_in,
};
