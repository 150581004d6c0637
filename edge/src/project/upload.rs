//! The recording of a project on its way into storage.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, TimestampMs, UploadId};

/// The client's own word that its upload is complete is waited for so long after the content was seen to arrive. Only then the edge
/// looks for itself, so that the two never collide.
pub const BACKUP_CHECK_AFTER: DurationMs = DurationMs::from_secs(30);

/// An upload of which nothing more arrived for so long is given up. Storage itself drops unfinished parts after seven days.
pub const ABANDONED_AFTER: DurationMs = DurationMs::from_secs(24 * 60 * 60);

/// How the content comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "way")]
pub enum UploadWay {
    /// In one request.
    Direct,
    /// In parts, which storage puts together.
    #[serde(rename_all = "camelCase")]
    Multipart {
        /// Storage's name for it.
        storage_id: String,
        /// Bytes of each part but the last.
        part_size: u64,
        /// Those that arrived, by their numbers from 1.
        #[serde(with = "numbered_parts")]
        parts: BTreeMap<u16, StoredPart>,
    },
}

/// Parts as a list: a map's numbers would be texts in JSON, which a tagged enum does not read back as numbers.
mod numbered_parts {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::StoredPart;

    pub fn serialize<S: Serializer>(parts: &BTreeMap<u16, StoredPart>, to: S) -> Result<S::Ok, S::Error> {
        parts.iter().collect::<Vec<(&u16, &StoredPart)>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<u16, StoredPart>, D::Error> {
        Ok(Vec::<(u16, StoredPart)>::deserialize(from)?.into_iter().collect())
    }
}

/// A part that arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPart {
    /// Storage's name for its content.
    pub etag: String,
    /// Bytes.
    pub size: u64,
}

/// Where the content is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum UploadState {
    /// On its way, or not yet sent.
    Pending,
    /// The edge has seen it arrive; the client has not said that it is complete.
    #[serde(rename_all = "camelCase")]
    Arrived {
        /// When.
        at: TimestampMs,
    },
    /// There.
    #[serde(rename_all = "camelCase")]
    Complete {
        /// When it was known to be.
        at: TimestampMs,
        /// Who said so.
        by: CompletedBy,
    },
    /// Given up: it did not come in time.
    #[serde(rename_all = "camelCase")]
    Abandoned {
        /// When.
        at: TimestampMs,
        /// What had arrived of it is thrown away.
        swept: bool,
    },
}

/// Who said that an upload is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CompletedBy {
    /// The client.
    Client,
    /// The edge's own look, because the client did not say it.
    Edge,
}

/// One recording on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Upload {
    /// Its name in storage.
    pub upload_id: UploadId,
    /// The recording's name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Media type, as the client gave it.
    pub content_type: String,
    /// SHA-256 announced, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// How it comes.
    #[serde(flatten)]
    pub way: UploadWay,
    /// Where it is.
    #[serde(flatten)]
    pub state: UploadState,
    /// When it was announced.
    pub announced_at: TimestampMs,
    /// When something of it arrived last.
    pub last_news_at: TimestampMs,
}

impl Upload {
    /// Whether its content is there.
    pub fn is_complete(&self) -> bool {
        matches!(self.state, UploadState::Complete { .. })
    }

    /// Whether it may still come.
    pub fn is_open(&self) -> bool {
        matches!(self.state, UploadState::Pending | UploadState::Arrived { .. })
    }

    /// When the edge looks for itself whether it is there: a while after the content was seen, or when it would be given up.
    pub fn check_at(&self) -> Option<TimestampMs> {
        match self.state {
            UploadState::Pending => Some(self.last_news_at + ABANDONED_AFTER),
            UploadState::Arrived { at } => Some(at + BACKUP_CHECK_AFTER),
            UploadState::Complete { .. } | UploadState::Abandoned { .. } => None,
        }
    }

    /// Its content was seen to arrive.
    pub fn arrived(&mut self, now: TimestampMs) -> bool {
        if self.state != UploadState::Pending {
            return false;
        }
        self.last_news_at = now;
        self.state = UploadState::Arrived { at: now };
        true
    }

    /// How many parts it has, of one in parts.
    pub fn part_count(&self) -> Option<u32> {
        match &self.way {
            UploadWay::Direct => None,
            UploadWay::Multipart { part_size, .. } => {
                let count = self.size.div_ceil((*part_size).max(1));
                Some(u32::try_from(count).unwrap_or(u32::MAX))
            }
        }
    }

    /// The numbers of the parts that have not arrived.
    pub fn missing_parts(&self) -> Vec<u16> {
        let UploadWay::Multipart { parts, .. } = &self.way else { return Vec::new() };
        let count = self.part_count().unwrap_or(0);
        (1..=u16::try_from(count).unwrap_or(u16::MAX)).filter(|number| !parts.contains_key(number)).collect()
    }

    /// It was put together, and is not what was announced: it can only be made anew.
    pub fn give_up(&mut self, now: TimestampMs) -> bool {
        let is_open = self.is_open();
        if is_open {
            self.state = UploadState::Abandoned { at: now, swept: false };
        }
        is_open
    }

    /// A part arrived. One that arrives anew takes the place of the earlier one, as it does in storage. With the last one all of
    /// it has arrived.
    pub fn part_arrived(&mut self, now: TimestampMs, number: u16, part: StoredPart) -> bool {
        if !self.is_open() {
            return false;
        }
        let UploadWay::Multipart { parts, .. } = &mut self.way else { return false };
        self.last_news_at = now;
        parts.insert(number, part);
        if self.missing_parts().is_empty() {
            self.state = UploadState::Arrived { at: now };
        }
        true
    }

    /// Its content is there. Who says it first is remembered.
    pub fn complete(&mut self, now: TimestampMs, by: CompletedBy) -> bool {
        if !self.is_open() {
            return false;
        }
        self.last_news_at = now;
        self.state = UploadState::Complete { at: now, by };
        true
    }

    /// The edge looked, and the content is not there. Says whether the upload is given up with that.
    pub fn missed(&mut self, now: TimestampMs) -> bool {
        match self.state {
            UploadState::Arrived { .. } => {
                self.state = UploadState::Pending;
                false
            }
            UploadState::Pending if now >= self.last_news_at + ABANDONED_AFTER => {
                self.state = UploadState::Abandoned { at: now, swept: false };
                true
            }
            _ => false,
        }
    }

    /// What had arrived of it is thrown away.
    pub fn swept(&mut self) -> bool {
        match &mut self.state {
            UploadState::Abandoned { swept, .. } if !*swept => {
                *swept = true;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_parts(size: u64, part_size: u64) -> Upload {
        Upload {
            upload_id: UploadId::new("upl_1").unwrap(),
            name: "talk.wav".into(),
            size,
            content_type: "audio/wav".into(),
            sha256: None,
            way: UploadWay::Multipart { storage_id: "s".into(), part_size, parts: BTreeMap::new() },
            state: UploadState::Pending,
            announced_at: TimestampMs(0),
            last_news_at: TimestampMs(0),
        }
    }

    #[test]
    fn an_upload_in_parts_comes_back_from_its_row_as_it_was() {
        let mut upload = in_parts(25, 10);
        upload.part_arrived(TimestampMs(5), 3, StoredPart { etag: "e".into(), size: 5 });
        let row = serde_json::to_string(&upload).unwrap();
        assert_eq!(serde_json::from_str::<Upload>(&row).unwrap(), upload);
    }

    #[test]
    fn a_part_that_is_left_over_is_a_part() {
        assert_eq!((in_parts(25, 10).part_count(), in_parts(20, 10).part_count()), (Some(3), Some(2)));
        assert_eq!(in_parts(25, 10).missing_parts(), [1, 2, 3]);
    }

    #[test]
    fn it_has_arrived_with_the_last_of_its_parts_in_whatever_order_they_come() {
        let mut upload = in_parts(25, 10);
        for (number, missing) in [(3, vec![1, 2]), (1, vec![2]), (1, vec![2])] {
            assert!(upload.part_arrived(TimestampMs(5), number, StoredPart { etag: "e".into(), size: 1 }));
            assert_eq!((upload.missing_parts(), &upload.state), (missing, &UploadState::Pending));
        }
        assert!(upload.part_arrived(TimestampMs(9), 2, StoredPart { etag: "e".into(), size: 10 }));
        assert_eq!(upload.state, UploadState::Arrived { at: TimestampMs(9) });
    }
}
