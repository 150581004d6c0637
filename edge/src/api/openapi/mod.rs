//! The API as an OpenAPI 3.1 document, made from the types that the edge reads and writes and from the tables of operations
//! beside this file. `docs/openapi.json` is its committed copy, and what the edge serves.
//!
//! Only with the feature `schema`: the edge itself needs none of it. Paths of workers are told in `docs/protocol.md`.

mod clients;
mod listening;
mod operation;
mod operators;
mod projects;
mod render;
#[cfg(test)]
mod routes;
mod tenants;
mod webhooks;

pub use operation::Operation;
pub use render::document;

/// Every operation that clients and operators have.
pub fn operations() -> Vec<Operation> {
    [
        clients::operations(),
        listening::operations(),
        projects::operations(),
        tenants::operations(),
        operators::operations(),
        webhooks::operations(),
    ]
    .concat()
}

/// The document as it is committed: indented, with a final line break.
pub fn text() -> String {
    format!("{:#}\n", document())
}
