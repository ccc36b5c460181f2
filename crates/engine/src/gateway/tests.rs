mod calls;
mod extensions;
mod lists;
mod permissions;
mod questions;
mod resources;
