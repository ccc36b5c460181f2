//! What is seen, at several sizes, with and without colours, of one made-up gateway.

mod hostile;
mod picture;
mod screens;
mod world;
