//! The recording of a project, in storage.

use worker::{Env, console_error};

use super::fault::Fault;
use super::media;
use crate::project::{Upload, UploadWay};

/// Whether the whole content is there.
pub async fn is_stored(env: &Env, key: &str, upload: &Upload) -> Result<bool, Fault> {
    let object = media::bucket(env)?.head(key).await?;
    Ok(object.is_some_and(|object| object.size() == upload.size))
}

/// Throws away what arrived of an upload that was given up.
pub async fn sweep(env: &Env, key: &str, upload: &Upload) -> Result<(), Fault> {
    let bucket = media::bucket(env)?;
    if let UploadWay::Multipart { storage_id, .. } = &upload.way {
        let parts = bucket.resume_multipart_upload(key, storage_id.clone())?;
        // Storage may have dropped them itself, which is as good.
        if let Err(error) = parts.abort().await {
            console_error!("{key}: its parts could not be thrown away: {error}");
        }
    }
    bucket.delete(key).await?;
    Ok(())
}
