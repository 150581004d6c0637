//! Protocol Buffers' wire format, as far as rewriting an ONNX file needs it: reading the fields of a message without
//! knowing its type, and writing fields.
//!
//! <https://protobuf.dev/programming-guides/encoding/>

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WireError {
    /// The bytes end inside a field.
    #[error("it ends in the middle of a field (byte {0})")]
    Truncated(usize),
    /// A number has more than 64 bits.
    #[error("a number has more than 64 bits (byte {0})")]
    Overlong(usize),
    /// Groups and reserved wire types are not in ONNX files.
    #[error("wire type {0} is not expected in an ONNX file")]
    WireType(u64),
    /// A field that has to be text is not.
    #[error("field {0} is not text")]
    NotText(u32),
    /// A field that has to be there is not.
    #[error("field {0} is missing")]
    Missing(u32),
}

/// One field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The field's number.
    pub number: u32,
    /// The whole field with its tag: writing it copies the field.
    pub raw: &'a [u8],
    /// The content, for a field of variable length without its length.
    pub payload: &'a [u8],
}

impl<'a> Field<'a> {
    /// The content as text.
    pub fn text(&self) -> Result<&'a str, WireError> {
        std::str::from_utf8(self.payload).map_err(|_| WireError::NotText(self.number))
    }

    /// The content as fields of a message of its own.
    pub fn message(&self) -> Result<Vec<Field<'a>>, WireError> {
        fields(self.payload)
    }

    /// The content as a number.
    pub fn number(&self) -> Result<u64, WireError> {
        read_varint(self.payload, &mut 0)
    }
}

/// The fields of a message, in their order.
pub fn fields(message: &[u8]) -> Result<Vec<Field<'_>>, WireError> {
    let mut at = 0;
    let mut found = Vec::new();
    while at < message.len() {
        let start = at;
        let tag = read_varint(message, &mut at)?;
        let length = match tag & 7 {
            0 => {
                let value = at;
                read_varint(message, &mut at)?;
                let length = at - value;
                at = value;
                length
            }
            1 => 8,
            2 => {
                let length = read_varint(message, &mut at)?;
                usize::try_from(length).map_err(|_| WireError::Truncated(at))?
            }
            5 => 4,
            other => return Err(WireError::WireType(other)),
        };
        let end = at.checked_add(length).ok_or(WireError::Truncated(at))?;
        let payload = message.get(at..end).ok_or(WireError::Truncated(at))?;
        at = end;
        let number = u32::try_from(tag >> 3).map_err(|_| WireError::Overlong(start))?;
        found.push(Field { number, raw: &message[start..end], payload });
    }
    Ok(found)
}

/// The first field of this number.
pub fn require<'a>(fields: &[Field<'a>], number: u32) -> Result<Field<'a>, WireError> {
    fields.iter().find(|field| field.number == number).copied().ok_or(WireError::Missing(number))
}

fn read_varint(bytes: &[u8], at: &mut usize) -> Result<u64, WireError> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or(WireError::Truncated(*at))?;
        *at += 1;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return Err(WireError::Overlong(*at));
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(WireError::Overlong(*at))
}

fn write_varint(output: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        output.push(value as u8 | 0x80);
        value >>= 7;
    }
    output.push(value as u8);
}

/// Writes a field of variable length: text, bytes or a message.
pub fn write_bytes(output: &mut Vec<u8>, number: u32, payload: &[u8]) {
    write_varint(output, (u64::from(number) << 3) | 2);
    write_varint(output, payload.len() as u64);
    output.extend_from_slice(payload);
}

/// Writes a field with a number.
pub fn write_number(output: &mut Vec<u8>, number: u32, value: u64) {
    write_varint(output, u64::from(number) << 3);
    write_varint(output, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_specification_are_read() {
        // "Test1 { a: 150 }" is 08 96 01, "Test2 { b: 'testing' }" is 12 07 74..67.
        let read = fields(&[0x08, 0x96, 0x01, 0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]).unwrap();
        assert_eq!((read[0].number, read[0].number()), (1, Ok(150)));
        assert_eq!((read[1].number, read[1].text()), (2, Ok("testing")));
        assert_eq!(require(&read, 3), Err(WireError::Missing(3)));
    }

    #[test]
    fn every_way_to_be_malformed_is_an_error() {
        assert_eq!(fields(&[0x08]), Err(WireError::Truncated(1)));
        assert_eq!(fields(&[0x12, 0x05, 1, 2]), Err(WireError::Truncated(2)));
        assert_eq!(fields(&[0x09, 1, 2, 3]), Err(WireError::Truncated(1)));
        assert_eq!(fields(&[0x0b]), Err(WireError::WireType(3)));
        assert!(matches!(fields(&[0xff; 11]), Err(WireError::Overlong(_))));
        // A length of 2^64 - 1 must not wrap around.
        let huge = [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(fields(&huge), Err(WireError::Truncated(11)));
        assert_eq!(fields(&[0x12, 1, 0xff]).unwrap()[0].text(), Err(WireError::NotText(2)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_and_what_is_read_is_all_of_them(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Ok(read) = fields(&bytes) {
                let again: Vec<u8> = read.iter().flat_map(|field| field.raw).copied().collect();
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn what_is_written_is_read(value in any::<u64>(), number in 1..100_000u32, text in ".{0,40}") {
            let mut message = Vec::new();
            write_number(&mut message, number, value);
            write_bytes(&mut message, number, text.as_bytes());
            let read = fields(&message).unwrap();
            prop_assert_eq!(read.len(), 2);
            prop_assert_eq!((read[0].number, read[0].number().unwrap()), (number, value));
            prop_assert_eq!((read[1].number, read[1].text().unwrap()), (number, text.as_str()));
        }
    }
}
