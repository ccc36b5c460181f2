mod calls;
mod extensions;
mod lists;
mod questions;
mod resources;
