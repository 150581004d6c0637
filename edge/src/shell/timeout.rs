//! Waiting for something for a bounded time.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use worker::Delay;

/// What comes of a future, or nothing when the time is over first. The timer ends with it: one that is left pending would keep
/// the object alive.
pub async fn or_timeout<T>(future: impl Future<Output = T>, timeout: Duration) -> Option<T> {
    let mut future = pin!(future);
    let mut delay = pin!(Delay::from(timeout));
    poll_fn(|context| {
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return Poll::Ready(Some(value));
        }
        delay.as_mut().poll(context).map(|()| None)
    })
    .await
}
