//! What `wrangler.toml` has to hold. wrangler itself only warns, and a deploy then lacks a binding.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use toml::{Table, Value};

/// Tables and arrays that an environment does not inherit.
const NOT_INHERITED: &[&str] = &[
    "d1_databases",
    "durable_objects",
    "kv_namespaces",
    "queues",
    "r2_buckets",
    "ratelimits",
    "secrets_store_secrets",
    "services",
    "vars",
    "version_metadata",
];

fn config() -> Result<Table> {
    let path = crate::build_edge::repository().join("wrangler.toml");
    Ok(fs::read_to_string(path)?.parse()?)
}

/// Names of everything that is bound: `r2_buckets MEDIA`, `vars ENVIRONMENT`, ...
fn bindings(environment: &Table) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for kind in NOT_INHERITED {
        collect(kind, environment.get(*kind), &mut names);
    }
    names
}

fn collect(kind: &str, value: Option<&Value>, names: &mut BTreeSet<String>) {
    match value {
        Some(Value::Array(items)) => items.iter().for_each(|item| collect(kind, Some(item), names)),
        Some(Value::Table(table)) => match table.get("binding").or(table.get("name")) {
            Some(Value::String(name)) => {
                names.insert(format!("{kind} {name}"));
            }
            _ if kind == "vars" => names.extend(table.keys().map(|key| format!("vars {key}"))),
            _ => table.values().for_each(|value| collect(kind, Some(value), names)),
        },
        _ => {}
    }
}

#[test]
fn every_environment_has_every_binding() -> Result<()> {
    let config = config()?;
    let wanted = bindings(&config);
    for binding in
        ["durable_objects SCHEDULER", "r2_buckets MEDIA", "vars ENVIRONMENT", "version_metadata VERSION"]
    {
        ensure!(wanted.contains(binding), "{binding} is not bound: {wanted:?}");
    }
    let environments = config.get("env").and_then(Value::as_table).context("no environments")?;
    ensure!(environments.len() >= 2, "dev and production are expected");
    for (name, environment) in environments {
        let found = bindings(environment.as_table().context("an environment is a table")?);
        ensure!(found == wanted, "env.{name} binds {found:?} where the top binds {wanted:?}");
    }
    Ok(())
}

#[test]
fn environments_share_no_bucket() -> Result<()> {
    let text = fs::read_to_string(crate::build_edge::repository().join("wrangler.toml"))?;
    let buckets: Vec<&str> = text.lines().filter(|line| line.starts_with("bucket_name")).collect();
    let distinct: BTreeSet<&&str> = buckets.iter().collect();
    ensure!(buckets.len() == distinct.len(), "two environments write into one bucket: {buckets:?}");
    Ok(())
}
