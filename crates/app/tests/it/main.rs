//! The real binary, driven as its clients drive it.

mod churn;
mod cli;
mod config_command;
mod embedded;
mod errors;
mod faults;
mod front_door;
mod grid;
mod grid_clients;
mod http_lifecycle;
mod http_load;
mod manager;
mod profiles;
mod remote;
mod remote_faults;
mod s0;
mod s1_lifecycle;
mod s1_namespaces;
mod s1_naming;
mod s1_protocol;
mod s2;
mod s3;
mod shutdown;
mod soak;
mod status;
mod surface;
