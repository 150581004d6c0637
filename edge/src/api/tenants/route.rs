//! The operator's paths below `/v1/admin/tenants`.

use shared_protocol::TenantId;

use super::super::route::Method;
use crate::tenant::KeyId;

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantRoute {
    /// All tenants that an operator has set up.
    List,
    /// One tenant's limits, and what it used this month.
    Get(TenantId),
    /// Change its limits.
    Update(TenantId),
    /// What it used in a month.
    Usage(TenantId),
    /// Its keys.
    Keys(TenantId),
    /// Make a key.
    CreateKey(TenantId),
    /// Give a key another secret beside the one it has.
    RotateKey(TenantId, KeyId),
    /// End a key.
    RevokeKey(TenantId, KeyId),
}

/// Finds what a request is for; `segments` are those after `tenants`.
pub fn lookup(method: Method, segments: &[&str]) -> Option<TenantRoute> {
    use Method::{Get, Post};
    let [tenant, rest @ ..] = segments else {
        return (method == Get).then_some(TenantRoute::List);
    };
    let tenant = TenantId::new(*tenant).ok()?;
    Some(match (method, rest) {
        (Get, []) => TenantRoute::Get(tenant),
        (Post, []) => TenantRoute::Update(tenant),
        (Get, ["usage"]) => TenantRoute::Usage(tenant),
        (Get, ["keys"]) => TenantRoute::Keys(tenant),
        (Post, ["keys"]) => TenantRoute::CreateKey(tenant),
        (Post, ["keys", key, "rotate"]) => TenantRoute::RotateKey(tenant, KeyId::new(*key)?),
        (Post, ["keys", key, "revoke"]) => TenantRoute::RevokeKey(tenant, KeyId::new(*key)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ApiError;
    use crate::api::route::{Route, find};

    #[test]
    fn a_tenants_keys_lie_below_its_name() {
        let acme = TenantId::new("acme.example").unwrap();
        let key = KeyId::new("key_1").unwrap();
        assert_eq!(
            find(Some(Method::Post), "/v1/admin/tenants/acme.example/keys/key_1/revoke"),
            Ok(Route::Tenants(TenantRoute::RevokeKey(acme, key)))
        );
        assert_eq!(find(Some(Method::Get), "/v1/admin/tenants"), Ok(Route::Tenants(TenantRoute::List)));
        assert_eq!(
            find(Some(Method::Put), "/v1/admin/tenants/acme/keys"),
            Err(ApiError::MethodNotAllowed { allow: "GET, HEAD, POST".into() })
        );
        for path in
            ["/v1/admin/tenants/", "/v1/admin/tenants/.tenants", "/v1/admin/tenants/a/keys/x.y/revoke"]
        {
            assert_eq!(find(Some(Method::Post), path), Err(ApiError::RouteNotFound), "{path}");
        }
    }
}
