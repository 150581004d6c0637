//! How webhooks are set up: all of them by operators under `/v1/admin/webhooks`, a tenant's own by its clients under `/v1/webhooks`.

pub mod call;
pub mod delivery_view;
pub mod perform;
pub mod request;
pub mod route;
pub mod view;
