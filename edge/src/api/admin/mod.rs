//! The operator's side of the API: everything under `/v1/admin`.

pub mod call;
pub mod filter;
pub mod perform;
pub mod request;
pub mod route;
pub mod view;
