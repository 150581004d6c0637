//! Versions of the protocol.

use serde::{Deserialize, Serialize};

/// A version of the protocol. Within one number, messages and fields are only ever added: a peer ignores fields
/// that it does not know and answers a message type that it does not know with an `error` while the link lives on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ProtocolVersion(pub u16);

/// The version that this build speaks. A scheduler refuses a `hello` of another number, and says so in an `error`.
pub const PROTOCOL_VERSION: ProtocolVersion = ProtocolVersion(1);
