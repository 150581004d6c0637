//! How operators set webhooks up: everything under `/v1/admin/webhooks`.

pub mod call;
pub mod perform;
pub mod request;
pub mod route;
pub mod view;
