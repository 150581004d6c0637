//! What must hold of every answer.

use serde_json::Value;

use super::credentials::Who;
use super::request::Request;
use super::wire::Answer;
use super::world::World;

/// Something that must never happen.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The try.
    pub number: u64,
    /// Which rule was broken.
    pub rule: &'static str,
    /// How.
    pub what: String,
}

/// The rule that an answer breaks, and how.
pub fn check(
    world: &World,
    request: &Request,
    answer: Result<&Answer, &String>,
) -> Option<(&'static str, String)> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Some(("every request is answered", error.clone())),
    };
    let broken = |rule| Some((rule, answer.describe()));
    if answer.status >= 500 && !answer.is_of_the_parser() {
        return broken("nothing fails inside");
    }
    // An operator who looks may see everything.
    if request.who != Who::Reader && world.secrets.iter().any(|secret| answer.holds(secret)) {
        return broken("nobody reads what is not theirs");
    }
    if answer.is_of_the_parser() || !request.is_of_the_api() {
        return None;
    }
    if answer.header("x-request-id").is_none() {
        return broken("every answer has a request id");
    }
    if answer.status >= 400 && request.method != "HEAD" && !is_problem(answer) {
        return broken("every error is a problem with a code");
    }
    if answer.status == 405 && answer.header("allow").is_none_or(str::is_empty) {
        return broken("whoever is told 405 is told what is allowed");
    }
    None
}

fn is_problem(answer: &Answer) -> bool {
    let Ok(problem) = serde_json::from_slice::<Value>(&answer.body) else { return false };
    answer.header("content-type") == Some("application/problem+json")
        && problem["status"] == answer.status
        && ["type", "title", "detail", "code", "requestId"].iter().all(|name| problem[*name].is_string())
}

/// The answer in a word or two, to be counted by.
pub fn name_of(answer: &Answer) -> String {
    let problem = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
    let code = problem["code"].as_str().filter(|_| answer.status >= 400);
    match code {
        Some(code) => format!("{} {code}", answer.status),
        None => answer.status.to_string(),
    }
}
