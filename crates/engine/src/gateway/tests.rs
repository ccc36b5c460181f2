mod calls;
mod lists;
mod questions;
mod resources;
