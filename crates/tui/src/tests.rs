//! What is seen, at several sizes, with and without colours, of one made-up gateway.

mod hostile;
mod page;
mod picture;
pub(crate) mod screens;
pub(crate) mod world;
