//! The dashboard for Grafana asks for what the pages for Prometheus have, and for nothing else.

use conformance::harness::repository;

#[test]
fn every_series_of_the_dashboard_is_on_a_page_of_the_edge_or_of_the_worker() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap();
    let dashboard = read("docs/grafana/minifleet.json");
    let (edge, worker) = (read("edge/src/api/metrics.rs"), read("mini-worker/src/metrics/mod.rs"));
    let names = dashboard
        .split("minifleet_")
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default());
    let mut count = 0;
    for name in names {
        let quoted = |name: &str| format!("\"{name}\"");
        let on_edge = edge.contains(&quoted(name));
        let on_worker = name.strip_prefix("worker_").is_some_and(|name| worker.contains(&quoted(name)));
        assert!(on_edge || on_worker, "minifleet_{name} is on no page");
        count += 1;
    }
    assert!(count > 20, "the dashboard asks for {count} series only");
}
