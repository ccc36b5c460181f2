mod calls;
mod consent;
mod extensions;
mod lists;
mod permissions;
mod questions;
mod resources;
