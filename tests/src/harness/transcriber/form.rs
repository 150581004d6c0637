//! Reading a form as servers do (RFC 7578), strictly: the test ends when a request is none.

use std::collections::BTreeMap;

/// The recording that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedFile {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub content_type: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A form's fields, of which one is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    pub fields: BTreeMap<String, Vec<String>>,
    pub file: ReceivedFile,
}

/// The form of a request.
///
/// # Panics
/// The body is not one, or has no file.
pub fn parse(content_type: &str, body: &[u8]) -> Form {
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").expect("the body is a form");
    let body =
        body.strip_prefix(format!("--{boundary}\r\n").as_bytes()).expect("it begins with its boundary");
    let body =
        body.strip_suffix(format!("\r\n--{boundary}--\r\n").as_bytes()).expect("it ends with its boundary");
    let (mut fields, mut file) = (BTreeMap::<String, Vec<String>>::new(), None);
    for part in split(body, format!("\r\n--{boundary}\r\n").as_bytes()) {
        let (head, content) = split_once(part, b"\r\n\r\n").expect("a part has a head and a content");
        let head = String::from_utf8(head.to_vec()).expect("a head is text");
        let value = |name: &str| {
            let (_, rest) = head.split_once(&format!("{name}=\""))?;
            Some(rest.split_once('"').expect("a quoted text has an end").0.to_owned())
        };
        let name = value(" name").expect("a part has a name");
        if let Some(file_name) = value("filename") {
            let content_type =
                head.split("Content-Type: ").nth(1).expect("a file has a media type").to_owned();
            assert_eq!(name, "file", "the recording goes by this name");
            assert!(file.is_none(), "there are two files");
            file = Some(ReceivedFile { name: file_name, content_type, bytes: content.to_vec() });
        } else {
            let text = String::from_utf8(content.to_vec()).expect("a field is text");
            fields.entry(name).or_default().push(text);
        }
    }
    Form { fields, file: file.expect("a form has a file") }
}

fn split<'a>(mut bytes: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = vec![];
    while let Some((part, rest)) = split_once(bytes, mark) {
        parts.push(part);
        bytes = rest;
    }
    parts.push(bytes);
    parts
}

fn split_once<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(mark.len()).position(|window| window == mark)?;
    Some((&bytes[..at], &bytes[at + mark.len()..]))
}
