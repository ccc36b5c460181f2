//! What is said differently in each era.

pub mod legacy;
