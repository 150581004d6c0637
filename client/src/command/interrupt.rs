//! Ctrl-C: the first asks for an orderly end, the second ends the process at once.

use std::io::Write;

use tokio_util::sync::CancellationToken;

use super::exit::Exit;

/// Watches for Ctrl-C and SIGTERM from now on. The token is cancelled at the first one.
pub fn watch() -> CancellationToken {
    let token = CancellationToken::new();
    let first = token.clone();
    tokio::spawn(async move {
        signal().await;
        first.cancel();
        signal().await;
        let message = "minifleet: quit at once; jobs that were started may still run: see `minifleet jobs`";
        // If standard error is gone the exit code still says it.
        writeln!(std::io::stderr(), "{message}").ok();
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
    token
}

/// Returns at the next signal, or never where signals cannot be watched: then they end the process as always.
async fn signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
            (Ok(mut interrupt), Ok(mut terminate)) => {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            }
            _ => std::future::pending().await,
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
