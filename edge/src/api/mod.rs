//! The HTTP contract of `docs/api.md`, without any IO: paths, requests, answers, errors, keys, tickets.

pub mod admin;
pub mod call;
pub mod close;
pub mod cors;
pub mod download;
pub mod error;
pub mod key;
pub mod metrics;
pub mod object_key;
#[cfg(feature = "schema")]
pub mod openapi;
pub mod page;
pub mod parts;
pub mod playlist;
pub mod projects;
pub mod range;
pub mod rate_limit;
pub mod request;
pub mod retention;
pub mod route;
pub mod stems;
pub mod tenants;
pub mod ticket;
pub mod view;
pub mod webhooks;

pub use error::{ApiError, Problem};
