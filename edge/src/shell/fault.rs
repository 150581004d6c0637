//! What can go wrong while a request is answered.

use crate::api::ApiError;

/// A condition for the client, or a failure of the platform, which the client sees as an internal fault.
#[derive(Debug)]
pub enum Fault {
    /// The client's answer says it.
    Api(ApiError),
    /// The log says it.
    Platform(worker::Error),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Api(error) => error.fmt(f),
            Self::Platform(error) => error.fmt(f),
        }
    }
}

impl<E: Into<ApiError>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Api(error.into())
    }
}

impl From<worker::Error> for Fault {
    fn from(error: worker::Error) -> Self {
        Self::Platform(error)
    }
}
