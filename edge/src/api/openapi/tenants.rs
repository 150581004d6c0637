//! Tenants: their keys, their limits, and what they used.

use serde_json::json;

use super::operation::{Access, Group, Operation, get, post};
use crate::api::ApiError;
use crate::api::admin::request::ReasonBody;
use crate::api::tenants::request::{CreateKeyBody, RotateKeyBody, SettingsChange};
use crate::api::tenants::view::{KeyList, KeyView, KeyWithSecret, TenantList, TenantUsage, TenantView};

pub(super) fn operations() -> Vec<Operation> {
    let a_month = |operation: Operation| {
        operation
            .query(
                "month",
                "Which month in UTC; the present one when absent.",
                json!({ "type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$" }),
            )
            .pages()
            .gives::<TenantUsage>(200, "The month, with a page of its rows.")
    };
    vec![
        a_month(get("getUsage", "/v1/usage", Group::Service, Access::Client)).says(
            "What the tenant used in a month",
            "Each generation is charged once, when it is completed.",
        ),
        look("listTenants", "/v1/admin/tenants")
            .says("Tenants that an operator has set up", "By name.")
            .query(
                "limit",
                "How many at most.",
                json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 }),
            )
            .query("cursor", "The `nextCursor` of the page before.", json!({ "type": "string" }))
            .gives::<TenantList>(200, "A page of them."),
        look("getTenant", "/v1/admin/tenants/{tenant}")
            .says("A tenant's limits, and what it used this month", "")
            .gives::<TenantView>(200, "The tenant, set up or not."),
        act("updateTenant", "/v1/admin/tenants/{tenant}")
            .says(
                "Change a tenant's limits",
                "What is absent stays; `null` takes a limit back to what is usual.",
            )
            .may_take::<SettingsChange>()
            .gives::<TenantView>(200, "The tenant."),
        a_month(look("getTenantUsage", "/v1/admin/tenants/{tenant}/usage"))
            .says("What a tenant used in a month", ""),
        look("listKeys", "/v1/admin/tenants/{tenant}/keys")
            .says(
                "A tenant's keys",
                "Without their secrets. Those in the edge's own secrets are not among them.",
            )
            .gives::<KeyList>(200, "The keys, newest first."),
        act("createKey", "/v1/admin/tenants/{tenant}/keys")
            .says("Make a key", "Its secret is shown in this answer and never again.")
            .may_take::<CreateKeyBody>()
            .gives::<KeyWithSecret>(201, "The key and its secret.")
            .fails([ApiError::TooManyKeys { limit: 0 }]),
        act("rotateKey", "/v1/admin/tenants/{tenant}/keys/{keyId}/rotate")
            .says("Give a key another secret", "The one before stays valid for a day, unless said otherwise.")
            .may_take::<RotateKeyBody>()
            .gives::<KeyWithSecret>(200, "The key and its new secret.")
            .fails([ApiError::KeyNotFound]),
        act("revokeKey", "/v1/admin/tenants/{tenant}/keys/{keyId}/revoke")
            .says("End a key", "It opens nothing ten seconds later.")
            .may_take::<ReasonBody>()
            .gives::<KeyView>(200, "The key.")
            .fails([ApiError::KeyNotFound]),
    ]
}

/// Asks a tenant's own object.
fn look(id: &'static str, path: &'static str) -> Operation {
    get(id, path, Group::Tenants, Access::Operator).fails([ApiError::TenantUnavailable])
}

fn act(id: &'static str, path: &'static str) -> Operation {
    post(id, path, Group::Tenants, Access::Operator)
        .fails([ApiError::TenantUnavailable, ApiError::KeyReadOnly])
}
