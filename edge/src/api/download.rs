//! Headers under which stored bytes go out.

/// The media type under which somebody else's bytes may be served. Whatever is neither audio nor video goes out as plain
/// bytes: an upload that calls itself HTML must never become a page of ours.
pub fn safe_content_type(announced: Option<&str>) -> &str {
    const BYTES: &str = "application/octet-stream";
    let Some(announced) = announced else { return BYTES };
    let essence = announced.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_media =
        essence.starts_with("audio/") || essence.starts_with("video/") || essence == "application/ogg";
    let is_clean = announced.len() <= 128 && announced.bytes().all(|c| (0x20..0x7f).contains(&c));
    if is_media && is_clean { announced } else { BYTES }
}

/// `Content-Disposition` that saves the bytes under a name (RFC 6266): an ASCII one for old programs, the real one for all
/// others.
pub fn attachment(name: &str) -> String {
    let ascii: String = name
        .chars()
        .map(|c| {
            if (c.is_ascii_alphanumeric() || " ._-()".contains(c)) && !c.is_ascii_control() { c } else { '_' }
        })
        .collect();
    let encoded: String = name
        .bytes()
        .map(|c| {
            if c.is_ascii_alphanumeric() || b"._-".contains(&c) {
                char::from(c).to_string()
            } else {
                format!("%{c:02X}")
            }
        })
        .collect();
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")
}

/// The name under which a restored file is saved: the recording's own, then what it is. `talk.mp3` and `restored.wav` make
/// `talk.restored.wav`.
pub fn saved_name(recording: &str, file: &str) -> String {
    let stem = recording.rsplit_once('.').map_or(recording, |(stem, _)| stem).trim();
    if stem.is_empty() { file.to_owned() } else { format!("{stem}.{file}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_that_calls_itself_a_page_is_served_as_bytes() {
        assert_eq!(safe_content_type(Some("audio/mpeg")), "audio/mpeg");
        assert_eq!(safe_content_type(Some("video/mp4; codecs=\"mp4a\"")), "video/mp4; codecs=\"mp4a\"");
        for bad in ["text/html", "image/svg+xml", "audio/x\r\nset-cookie: a", "", "AUDIOX/y"] {
            assert_eq!(safe_content_type(Some(bad)), "application/octet-stream", "{bad:?}");
        }
        assert_eq!(safe_content_type(None), "application/octet-stream");
    }

    #[test]
    fn a_name_cannot_end_its_header() {
        assert_eq!(
            attachment("Grüße \"1\"\r\n.wav"),
            "attachment; filename=\"Gr__e _1___.wav\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%221%22%0D%0A.wav"
        );
        assert_eq!(saved_name("talk.mp3", "restored.wav"), "talk.restored.wav");
        assert_eq!(saved_name(".mp3", "restored.wav"), "restored.wav");
        assert_eq!(saved_name("talk", "restored.wav"), "talk.restored.wav");
    }
}
