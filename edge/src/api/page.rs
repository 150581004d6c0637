//! Pages of lists: how many, and where they go on.

use super::request::{RequestError, field};

/// Items of one page at most.
pub const MAX_PAGE: u32 = 200;

/// Items of one page unless said otherwise.
pub const DEFAULT_PAGE: u32 = 50;

/// What is said of a place that no list gave.
pub const NOT_A_CURSOR: &str = "is not one that a list gave; start without one";

/// Reads how many items a page shall have.
///
/// # Errors
/// [`RequestError::Field`].
pub fn limit(text: &str) -> Result<u32, RequestError> {
    text.parse()
        .ok()
        .filter(|limit| (1..=MAX_PAGE).contains(limit))
        .ok_or_else(|| field("limit", format!("is not between 1 and {MAX_PAGE}")))
}

/// Reads the place before which a page begins, of lists that are in the order of a number.
///
/// # Errors
/// [`RequestError::Field`].
pub fn cursor(text: &str) -> Result<u64, RequestError> {
    text.parse().map_err(|_| field("cursor", NOT_A_CURSOR))
}

/// The query of a list that has pages and nothing else to choose: how many, and before which.
///
/// # Errors
/// [`RequestError::Field`].
pub fn page<'a>(
    pairs: impl Iterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
) -> Result<(u32, Option<u64>), RequestError> {
    let (mut items, mut before) = (DEFAULT_PAGE, None);
    for (name, value) in pairs {
        match name.as_ref() {
            "limit" => items = limit(value.as_ref())?,
            "cursor" => before = Some(cursor(value.as_ref())?),
            _ => return Err(field("query", "knows limit and cursor only")),
        }
    }
    Ok((items, before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_cannot_be_is_refused_by_the_name_of_what_is_wrong() {
        assert_eq!(page([("limit", "7"), ("cursor", "42")].into_iter()), Ok((7, Some(42))));
        assert_eq!(page(std::iter::empty::<(&str, &str)>()), Ok((DEFAULT_PAGE, None)));
        for (name, value) in
            [("limit", "0"), ("limit", "201"), ("limit", "x"), ("cursor", "-1"), ("page", "2")]
        {
            let refused = page([(name, value)].into_iter()).unwrap_err().to_string();
            assert!(refused.starts_with(if name == "page" { "query" } else { name }), "{refused}");
        }
    }
}
