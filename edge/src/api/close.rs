//! WebSocket close codes and reasons that may be sent.

/// Bytes of a reason: a close frame has 125, two of them for the code.
const MAX_REASON_BYTES: usize = 123;

/// The code with which a close is answered. 1004, 1005, 1006 and 1015 only ever describe what happened; sending one
/// of them, or one outside of all ranges, throws.
pub fn sendable_code(code: u32) -> u16 {
    match code {
        1000..=1003 | 1007..=1014 | 3000..=4999 => code as u16,
        _ => 1000,
    }
}

/// The reason cut to what a close frame holds; a longer one throws.
pub fn sendable_reason(reason: &str) -> &str {
    let end = reason
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take_while(|end| *end <= MAX_REASON_BYTES)
        .last();
    reason.get(..end.unwrap_or(0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_describes_a_close_is_never_sent() {
        for code in [0, 999, 1004, 1005, 1006, 1015, 2999, 5000, u32::MAX] {
            assert_eq!(sendable_code(code), 1000, "{code}");
        }
        for code in [1000, 1001, 1011, 3000, 4001, 4999] {
            assert_eq!(u32::from(sendable_code(code)), code);
        }
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        assert_eq!(sendable_reason("bye"), "bye");
        assert_eq!(sendable_reason(""), "");
        let cut = sendable_reason(&"ä".repeat(100)).len();
        assert_eq!(cut, 122);
    }
}
