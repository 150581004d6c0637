//! Why a job is still queued, for somebody who watches it.

use minifleet_client::Client;
use minifleet_client::fleet::FleetStatus;

use super::text;

/// One sentence about what the job waits for; nothing when the service does not say.
pub async fn reason(client: &Client) -> Option<String> {
    client.status().await.ok().as_ref().and_then(describe)
}

fn describe(status: &FleetStatus) -> Option<String> {
    let connected: Vec<_> = status.workers.iter().filter(|worker| worker.connected).collect();
    let queued = status.queue.queued;
    if connected.is_empty() {
        Some("no worker is connected; the job starts when one is".to_owned())
    } else if connected.iter().all(|worker| worker.draining) {
        Some("all workers are draining and take no new jobs; the job starts when one does again".to_owned())
    } else if queued > 1 {
        let workers = text::counted(connected.len() as u64, "worker");
        Some(format!("{queued} jobs are queued for {workers}"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe_json(queued: u32, workers: serde_json::Value) -> Option<String> {
        let queue = serde_json::json!({ "queued": queued, "offered": 0, "running": 0, "limit": 10 });
        let status = serde_json::json!({ "environment": "dev", "queue": queue, "workers": workers });
        describe(&serde_json::from_value(status).expect("a status"))
    }

    #[test]
    fn a_job_that_nobody_can_take_is_explained() {
        let worker = |connected: bool, draining: bool| serde_json::json!({ "workerId": "mini-1", "connected": connected, "draining": draining });
        let text = |queued, workers| describe_json(queued, workers).unwrap_or_default();
        assert!(text(1, serde_json::json!([])).contains("no worker"));
        assert!(text(1, serde_json::json!([worker(false, false)])).contains("no worker"));
        assert!(text(1, serde_json::json!([worker(true, true)])).contains("draining"));
        assert_eq!(text(7, serde_json::json!([worker(true, false)])), "7 jobs are queued for 1 worker");
        assert_eq!(describe_json(1, serde_json::json!([worker(true, false)])), None);
    }
}
