mod calls;
mod consent;
mod extensions;
mod items;
mod lists;
mod permissions;
mod questions;
mod resources;
