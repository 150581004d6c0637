//! A tenant's side of the API.

pub mod call;
