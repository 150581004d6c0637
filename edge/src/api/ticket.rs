//! Tickets: signed, expiring rights that any instance of the Worker checks without asking the scheduler.
//!
//! `base64url(claims).base64url(HMAC-SHA256(claims))`, the claims as JSON. A ticket names its signing key, so that keys
//! can be exchanged: the first key of the secret signs, all of them verify.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use shared_protocol::{Attempt, DurationMs, JobId, ProjectId, TenantId, TimestampMs, UploadId};

use crate::digest::sha256_from_hex;
use crate::scheduler::TranscriptRef;

/// Name of the secret with the signing keys.
pub const TICKET_KEYS: &str = "TICKET_KEYS";

/// The content of an upload has to arrive within this time.
pub const UPLOAD_TICKET_LIFETIME: DurationMs = DurationMs::from_secs(60 * 60);

/// An attempt may use its ticket for so long. Leases live on liveness and never end by age, so this is far above any
/// job's length; a worker that needs longer fails with an upload error and the job is tried again.
pub const JOB_TICKET_LIFETIME: DurationMs = DurationMs::from_secs(24 * 60 * 60);

/// A playback link lives so long unless its maker says otherwise.
pub const PLAYBACK_DEFAULT_LIFETIME: DurationMs = DurationMs::from_secs(24 * 60 * 60);

/// A playback link lives so long at most.
pub const PLAYBACK_MAX_LIFETIME: DurationMs = DurationMs::from_secs(7 * 24 * 60 * 60);

/// Longer ones are refused unread. Real ones have 200 to 700 characters.
const MAX_TICKET_LENGTH: usize = 4_096;

/// What a ticket allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "use", rename_all = "snake_case")]
pub enum Claims {
    /// To put the content of one upload.
    Upload(UploadClaims),
    /// To read the upload and the transcript of one job and to put objects of one attempt.
    Job(JobClaims),
    /// To listen to one job.
    Play(PlayClaims),
}

/// See [`Claims::Upload`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UploadClaims {
    /// Owner.
    pub tenant: TenantId,
    /// Which upload.
    pub upload_id: UploadId,
    /// Bytes announced.
    pub size: u64,
    /// The client's name for it.
    pub name: String,
    /// Media type announced.
    pub content_type: String,
    /// SHA-256 announced, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The project whose recording it is, if it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// How it comes in parts, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartsClaims>,
}

/// An upload in parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartsClaims {
    /// Storage's name for it.
    pub storage_id: String,
    /// Bytes of each part but the last.
    pub part_size: u64,
}

impl UploadClaims {
    /// The bytes that a part has to have; nothing when there is no such part.
    pub fn part_bytes(&self, number: u16) -> Option<u64> {
        let part_size = self.parts.as_ref()?.part_size;
        let before = u64::from(number.checked_sub(1)?).checked_mul(part_size)?;
        Some(self.size.checked_sub(before).filter(|left| *left > 0)?.min(part_size))
    }
}

/// See [`Claims::Job`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobClaims {
    /// Owner of the upload and the job.
    pub tenant: TenantId,
    /// Which job.
    pub job_id: JobId,
    /// Which attempt: the fencing token.
    pub attempt: Attempt,
    /// Which upload.
    pub upload_id: UploadId,
    /// Which transcript, if there is one to go by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<TranscriptRef>,
}

/// See [`Claims::Play`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlayClaims {
    /// Owner of the upload and the job.
    pub tenant: TenantId,
    /// Which job.
    pub job_id: JobId,
    /// Which upload.
    pub upload_id: UploadId,
}

/// What is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Signed {
    #[serde(rename = "kid")]
    key_id: String,
    #[serde(rename = "exp")]
    expires_at: TimestampMs,
    #[serde(flatten)]
    claims: Claims,
}

/// Why a ticket is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// Not a ticket.
    #[error("not a ticket")]
    Malformed,
    /// Signed with a key that is not, or no longer, in the list.
    #[error("signed with an unknown key")]
    UnknownKey,
    /// Changed on its way, or made up.
    #[error("the signature does not fit")]
    BadSignature,
    /// Its time is over.
    #[error("expired")]
    Expired,
}

/// Why the signing keys cannot be used. Says which entry, never what is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TicketKeyError {
    /// The secret is not set, or empty.
    #[error("the secret TICKET_KEYS holds no keys")]
    Empty,
    /// An entry has another form.
    #[error("entry {entry} of the secret TICKET_KEYS is not kid:hex, with 64 hex digits")]
    BadEntry {
        /// Which entry, from 1.
        entry: usize,
    },
}

/// The signing keys of an environment.
#[derive(Clone)]
pub struct TicketKeys {
    /// The first one signs.
    keys: Vec<(String, [u8; 32])>,
}

impl std::fmt::Debug for TicketKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.keys.iter().map(|(key_id, _)| key_id)).finish()
    }
}

impl TicketKeys {
    /// Reads `kid:hex64` entries, separated by commas or white space.
    ///
    /// # Errors
    /// [`TicketKeyError`].
    pub fn parse(secret: &str) -> Result<Self, TicketKeyError> {
        let keys = secret
            .split([',', ' ', '\t', '\r', '\n'])
            .filter(|entry| !entry.is_empty())
            .enumerate()
            .map(|(index, entry)| {
                entry
                    .split_once(':')
                    .filter(|(key_id, _)| !key_id.is_empty())
                    .and_then(|(key_id, hex)| Some((key_id.to_owned(), sha256_from_hex(hex)?)))
                    .ok_or(TicketKeyError::BadEntry { entry: index + 1 })
            })
            .collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() {
            return Err(TicketKeyError::Empty);
        }
        Ok(Self { keys })
    }

    /// Signs a right that lasts until `expires_at`.
    pub fn sign(&self, claims: Claims, expires_at: TimestampMs) -> String {
        let (key_id, key) = self.keys.first().expect("parse() refuses an empty list");
        let signed = Signed { key_id: key_id.clone(), expires_at, claims };
        let body =
            serde_json::to_vec(&signed).expect("claims have text keys only and no fallible serializers");
        let signature = mac(key, &body).finalize().into_bytes();
        format!("{}.{}", URL_SAFE_NO_PAD.encode(body), URL_SAFE_NO_PAD.encode(signature))
    }

    /// What a ticket allows now, and until when.
    ///
    /// # Errors
    /// [`TicketError`]. Whether the signature fits is found out in constant time, before anything else is believed.
    pub fn verify(&self, ticket: &str, now: TimestampMs) -> Result<(Claims, TimestampMs), TicketError> {
        if ticket.len() > MAX_TICKET_LENGTH {
            return Err(TicketError::Malformed);
        }
        let (body, signature) = ticket.split_once('.').ok_or(TicketError::Malformed)?;
        let body = URL_SAFE_NO_PAD.decode(body).map_err(|_| TicketError::Malformed)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TicketError::Malformed)?;
        let signed: Signed = serde_json::from_slice(&body).map_err(|_| TicketError::Malformed)?;
        let (_, key) =
            self.keys.iter().find(|(key_id, _)| *key_id == signed.key_id).ok_or(TicketError::UnknownKey)?;
        mac(key, &body).verify_slice(&signature).map_err(|_| TicketError::BadSignature)?;
        if signed.expires_at <= now {
            return Err(TicketError::Expired);
        }
        Ok((signed.claims, signed.expires_at))
    }
}

fn mac(key: &[u8; 32], body: &[u8]) -> Hmac<Sha256> {
    Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length").chain_update(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: TimestampMs = TimestampMs(1_000);
    const LATER: TimestampMs = TimestampMs(2_000);

    fn keys(secret: &str) -> TicketKeys {
        TicketKeys::parse(secret).unwrap()
    }

    fn claims(attempt: u32) -> Claims {
        Claims::Job(JobClaims {
            tenant: TenantId::new("acme").unwrap(),
            job_id: JobId::new("job_1").unwrap(),
            attempt: Attempt(attempt),
            upload_id: UploadId::new("upl_1").unwrap(),
            transcript: None,
        })
    }

    #[test]
    fn a_ticket_is_good_until_it_expires_and_for_nobody_elses_key() {
        let ours = keys(&format!("a:{}", "11".repeat(32)));
        let ticket = ours.sign(claims(1), LATER);
        assert_eq!(ours.verify(&ticket, NOW), Ok((claims(1), LATER)));
        assert_eq!(ours.verify(&ticket, LATER), Err(TicketError::Expired));
        let same_name = keys(&format!("a:{}", "22".repeat(32)));
        assert_eq!(same_name.verify(&ticket, NOW), Err(TicketError::BadSignature));
        assert_eq!(
            keys(&format!("b:{}", "11".repeat(32))).verify(&ticket, NOW),
            Err(TicketError::UnknownKey)
        );
    }

    #[test]
    fn after_a_rotation_old_tickets_still_work_and_new_ones_are_signed_with_the_new_key() {
        let old = keys(&format!("old:{}", "11".repeat(32)));
        let both = keys(&format!("new:{}, old:{}", "22".repeat(32), "11".repeat(32)));
        assert!(both.verify(&old.sign(claims(1), LATER), NOW).is_ok());
        assert_eq!(old.verify(&both.sign(claims(1), LATER), NOW), Err(TicketError::UnknownKey));
    }

    #[test]
    fn an_attempts_ticket_cannot_be_made_into_the_next_attempts() {
        let keys = keys(&format!("a:{}", "11".repeat(32)));
        let (one, two) = (keys.sign(claims(1), LATER), keys.sign(claims(2), LATER));
        let forged = format!("{}.{}", two.split_once('.').unwrap().0, one.split_once('.').unwrap().1);
        assert_eq!(keys.verify(&forged, NOW), Err(TicketError::BadSignature));
        for nonsense in ["", ".", "a.b", "....", &"x".repeat(5_000), &one[1..]] {
            assert!(keys.verify(nonsense, NOW).is_err(), "{nonsense:?}");
        }
    }

    #[test]
    fn the_last_part_of_an_upload_has_what_is_left_and_there_is_none_after_it() {
        let claims = |size| UploadClaims {
            tenant: TenantId::new("acme").unwrap(),
            upload_id: UploadId::new("upl_1").unwrap(),
            size,
            name: "talk.wav".into(),
            content_type: "audio/wav".into(),
            sha256: None,
            project_id: None,
            parts: Some(PartsClaims { storage_id: "s".into(), part_size: 10 }),
        };
        let bytes: Vec<Option<u64>> = (0..5).map(|number| claims(25).part_bytes(number)).collect();
        assert_eq!(bytes, [None, Some(10), Some(10), Some(5), None]);
        assert_eq!(claims(20).part_bytes(3), None);
    }

    #[test]
    fn a_ticket_from_before_transcripts_still_works_and_one_with_a_transcript_names_it() {
        let keys = keys(&format!("a:{}", "11".repeat(32)));
        let older = r#"{"use":"job","tenant":"acme","jobId":"job_1","attempt":1,"uploadId":"upl_1"}"#;
        assert_eq!(serde_json::from_str::<Claims>(older).unwrap(), claims(1));
        let Claims::Job(of_job) = claims(1) else { panic!("a job's") };
        let project_id = shared_protocol::ProjectId::new("prj_1").unwrap();
        let transcript = Some(TranscriptRef { project_id, version: 3 });
        let with = Claims::Job(JobClaims { transcript, ..of_job });
        assert_eq!(keys.verify(&keys.sign(with.clone(), LATER), NOW), Ok((with, LATER)));
    }

    #[test]
    fn a_ticket_fits_a_url_segment() {
        let keys = keys(&format!("a:{}", "11".repeat(32)));
        let ticket = keys.sign(claims(1), LATER);
        assert!(ticket.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c)), "{ticket}");
    }

    #[test]
    fn secrets_with_bad_entries_are_refused_by_number() {
        let error = TicketKeys::parse(&format!("a:{},b:12", "11".repeat(32))).unwrap_err();
        assert_eq!(error, TicketKeyError::BadEntry { entry: 2 });
        assert!(TicketKeys::parse("").is_err());
    }
}
