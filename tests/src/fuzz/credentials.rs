//! With whose rights a try asks, or pretends to ask.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::world::World;
use crate::harness::Keys;
use crate::sim::random::Random;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Nobody.
    Nobody,
    /// A client that may do what it likes with what is its own.
    Client,
    /// A key with one character changed.
    ChangedKey,
    /// A header that is no key.
    NoKey,
    /// An operator's key that only looks.
    Reader,
    /// A worker's key.
    Worker,
}

impl Who {
    const ALL: [Self; 6] =
        [Self::Nobody, Self::Client, Self::ChangedKey, Self::NoKey, Self::Reader, Self::Worker];

    /// Most tries have a key that opens the door: only what gets past it is worth much.
    pub fn draw(random: &mut Random, is_operators: bool) -> Self {
        let likely = if is_operators { Self::Reader } else { Self::Client };
        if random.chance(600) { likely } else { Self::ALL[random.index(Self::ALL.len())] }
    }

    /// The `Authorization` header.
    pub fn header(self, random: &mut Random, world: &World) -> Option<Vec<u8>> {
        let bearer = |key: &str| Some(format!("Bearer {key}").into_bytes());
        match self {
            Self::Nobody => None,
            Self::Client => bearer(Keys::ACME.0),
            Self::Reader => bearer(Keys::ADMIN_READER.0),
            Self::Worker => bearer(Keys::WORKER.0),
            Self::ChangedKey => {
                let key = [Keys::OTHER.0, Keys::ADMIN.0, world.their_key.as_str()][random.index(3)];
                bearer(&with_one_character_changed(key, random))
            }
            Self::NoKey => Some(
                [
                    &b"Bearer"[..],
                    b"Bearer ",
                    b"Basic dGVzdC1jbGllbnQta2V5LW9mLW90aGVyOg==",
                    b"bearer \xff\xfe",
                    b"Bearer null",
                    b"Bearer *",
                    b"Bearer other",
                    b"Bearer test-client-key-of-other, Bearer test-client-key-of-acme",
                    b"Token test-client-key-of-other",
                ][random.index(9)]
                .to_vec(),
            ),
        }
    }
}

/// Another key that looks like it. What is changed is never only a space at its end, which is no part of a key.
fn with_one_character_changed(key: &str, random: &mut Random) -> String {
    let mut bytes = key.as_bytes().to_vec();
    let at = random.index(bytes.len());
    match random.below(4) {
        0 => bytes[at] = b'a' + (bytes[at].wrapping_add(1 + random.below(24) as u8)) % 26,
        1 => bytes[at] ^= 1,
        2 => bytes.insert(at, b'x'),
        _ => {
            bytes.remove(at);
        }
    }
    let changed = String::from_utf8_lossy(&bytes).into_owned();
    let is_another = changed != key && !changed.contains(['\r', '\n', '\0', '\u{fffd}']);
    if is_another { changed } else { format!("{key}x") }
}

/// A ticket that must open nothing of the other tenant: its own ones changed in one bit, expired, or for something else.
pub fn ticket(random: &mut Random, world: &World) -> String {
    let mine = &world.own_tickets[random.index(world.own_tickets.len())];
    let theirs = &world.their_tickets[random.index(world.their_tickets.len())];
    match random.below(8) {
        0 | 1 => mine.clone(),
        2 | 3 => with_one_bit_changed(theirs, random),
        4 => world.expired_tickets[random.index(world.expired_tickets.len())].clone(),
        5 => with_claims_of(theirs, mine),
        6 => without_signature(theirs, random),
        _ => "e30.AAAA".to_owned(),
    }
}

/// One bit of its claims or its signature, not of its text: it stays base64.
fn with_one_bit_changed(ticket: &str, random: &mut Random) -> String {
    let Some((claims, signature)) = ticket.split_once('.') else { return ticket.to_owned() };
    let flip = |part: &str, random: &mut Random| {
        let mut bytes = URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
        let at = random.index(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << random.below(8);
        }
        URL_SAFE_NO_PAD.encode(bytes)
    };
    if random.chance(500) {
        format!("{}.{signature}", flip(claims, random))
    } else {
        format!("{claims}.{}", flip(signature, random))
    }
}

/// Their claims under a signature of ours.
fn with_claims_of(theirs: &str, mine: &str) -> String {
    let claims = theirs.split('.').next().unwrap_or_default();
    let signature = mine.split('.').nth(1).unwrap_or_default();
    format!("{claims}.{signature}")
}

fn without_signature(ticket: &str, random: &mut Random) -> String {
    let claims = ticket.split('.').next().unwrap_or_default();
    match random.below(4) {
        0 => claims.to_owned(),
        1 => format!("{claims}."),
        2 => format!("{ticket}="),
        _ => format!(".{ticket}"),
    }
}
