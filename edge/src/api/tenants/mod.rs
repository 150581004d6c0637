//! Tenants: their limits, keys and usage, for operators and for themselves.

pub mod call;
pub mod key_cache;
pub mod perform;
pub mod request;
pub mod route;
pub mod view;
