//! `workerd`'s configuration for a test, made from `wrangler.toml`: what is deployed is what is tested.

use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

use super::repository;

/// What of `wrangler.toml` decides how the edge runs. Bindings are those without `--env`; that the environments have the
/// same ones is a test of its own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct WorkerdConfig {
    compatibility_date: String,
    #[serde(default)]
    compatibility_flags: Vec<String>,
    #[serde(default)]
    vars: BTreeMap<String, String>,
    durable_objects: DurableObjects,
    #[serde(default)]
    r2_buckets: Vec<R2Bucket>,
    #[serde(default)]
    version_metadata: Option<Named>,
    assets: Assets,
    #[serde(default)]
    migrations: Vec<Migration>,
    #[serde(skip)]
    v8_flags: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct DurableObjects {
    bindings: Vec<DurableObject>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct DurableObject {
    name: String,
    class_name: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct R2Bucket {
    binding: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Named {
    binding: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Migration {
    #[serde(default)]
    new_sqlite_classes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Assets {
    binding: Option<String>,
    #[serde(default)]
    html_handling: Option<String>,
    #[serde(default)]
    not_found_handling: Option<String>,
    #[serde(default)]
    run_worker_first: Vec<String>,
}

impl WorkerdConfig {
    /// The bindings without `--env`.
    ///
    /// # Panics
    /// `wrangler.toml` is missing or is not what this reads.
    pub fn read() -> Self {
        toml::from_str(&wrangler_toml()).expect("wrangler.toml has what the edge needs")
    }

    /// The bindings of every named environment. An environment inherits vars and bindings from nowhere, the rest from the top.
    ///
    /// # Panics
    /// As [`Self::read`].
    pub fn read_environments() -> BTreeMap<String, Self> {
        let mut top: toml::Table = toml::from_str(&wrangler_toml()).expect("wrangler.toml is TOML");
        let Some(toml::Value::Table(environments)) = top.remove("env") else { return BTreeMap::new() };
        for own in ["vars", "durable_objects", "r2_buckets", "version_metadata"] {
            top.remove(own);
        }
        environments
            .into_iter()
            .map(|(name, environment)| {
                let mut merged = top.clone();
                merged.extend(environment.as_table().cloned().unwrap_or_default());
                let config = merged.try_into().unwrap_or_else(|error| panic!("[env.{name}]: {error}"));
                (name, config)
            })
            .collect()
    }

    /// Lets V8 collect all garbage often: what is no longer needed is gone at once, rather than when V8 thinks it worthwhile.
    pub fn collect_garbage_often(&mut self) {
        self.v8_flags = ["--gc-global", "--max-semi-space-size=1"].map(str::to_owned).to_vec();
    }

    /// Sets a variable as an operator may, whether `wrangler.toml` has it or not.
    pub fn set_var(&mut self, name: &str, value: &str) {
        self.vars.insert(name.to_owned(), value.to_owned());
    }

    /// Kind and name of every binding, sorted; the same for every environment.
    pub fn bindings(&self) -> Vec<String> {
        let mut all: Vec<String> = self.vars.keys().map(|name| format!("var {name}")).collect();
        all.extend(
            self.durable_objects.bindings.iter().map(|b| format!("object {} {}", b.name, b.class_name)),
        );
        all.extend(self.r2_buckets.iter().map(|bucket| format!("bucket {}", bucket.binding)));
        all.extend(self.version_metadata.iter().map(|version| format!("version {}", version.binding)));
        all.extend(self.assets.binding.iter().map(|binding| format!("assets {binding}")));
        all.sort();
        all
    }

    /// The configuration for `workerd serve`. It expects the links `app` (the built edge) and `miniflare` (miniflare's workers) beside it;
    /// `state` is the folder that survives a crash, with `objects` and `r2` in it.
    pub fn to_capnp(&self, state: &Path, assets: &Path, secrets: &[(&str, String)]) -> String {
        let template = include_str!("edge.capnp.template");
        let namespaces: Vec<String> =
            self.durable_objects.bindings.iter().map(|object| self.namespace(object)).collect();
        [
            ("@STATE_OBJECTS@", text(&state.join("objects").display().to_string())),
            ("@STATE_R2@", text(&state.join("r2").display().to_string())),
            ("@ASSETS@", text(&assets.display().to_string())),
            ("@ASSETS_CONFIG@", text(&self.assets_config())),
            ("@COMPATIBILITY_DATE@", text(&self.compatibility_date)),
            (
                "@COMPATIBILITY_FLAGS@",
                self.compatibility_flags.iter().map(|flag| text(flag)).collect::<Vec<_>>().join(", "),
            ),
            ("@V8_FLAGS@", self.v8_flags.iter().map(|flag| text(flag)).collect::<Vec<_>>().join(", ")),
            ("@NAMESPACES@", namespaces.join(", ")),
            ("@LOSSY@", text(include_str!("lossy.js"))),
            ("@CONTROL@", text(include_str!("control.js"))),
            ("@BINDINGS@", self.capnp_bindings(secrets).join(",\n    ")),
        ]
        .iter()
        .fold(template.to_owned(), |config, (mark, value)| config.replace(mark, value))
    }

    fn namespace(&self, object: &DurableObject) -> String {
        let class = &object.class_name;
        let sqlite = self.migrations.iter().any(|migration| migration.new_sqlite_classes.contains(class));
        assert!(sqlite, "{class} is not in new_sqlite_classes of wrangler.toml");
        format!(
            "(className = {}, uniqueKey = {}, enableSql = true)",
            text(class),
            text(&format!("minifleet-{class}"))
        )
    }

    fn assets_config(&self) -> String {
        let mut config = serde_json::Map::new();
        for (key, value) in [
            ("html_handling", &self.assets.html_handling),
            ("not_found_handling", &self.assets.not_found_handling),
        ] {
            if let Some(value) = value {
                config.insert(key.into(), value.as_str().into());
            }
        }
        if !self.assets.run_worker_first.is_empty() {
            config.insert("run_worker_first".into(), self.assets.run_worker_first.clone().into());
        }
        serde_json::Value::Object(config).to_string()
    }

    fn capnp_bindings(&self, secrets: &[(&str, String)]) -> Vec<String> {
        let vars = self.vars.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let secrets = secrets.iter().map(|(name, value)| (*name, value.as_str()));
        let mut all: Vec<String> = vars
            .chain(secrets)
            .map(|(name, value)| format!("(name = {}, text = {})", text(name), text(value)))
            .collect();
        for object in &self.durable_objects.bindings {
            let (name, class) = (text(&object.name), text(&object.class_name));
            all.push(format!("(name = {name}, durableObjectNamespace = {class})"));
        }
        for bucket in &self.r2_buckets {
            all.push(format!("(name = {}, r2Bucket = \"r2-bucket\")", text(&bucket.binding)));
        }
        if let Some(version) = &self.version_metadata {
            let json = r#"{"id":"test","tag":"","timestamp":"2026-01-01T00:00:00.000Z"}"#;
            all.push(format!("(name = {}, json = {})", text(&version.binding), text(json)));
        }
        if let Some(binding) = &self.assets.binding {
            let entry = r#"(name = "front", entrypoint = "AssetWorker")"#;
            all.push(format!("(name = {}, service = {entry})", text(binding)));
        }
        all
    }
}

fn wrangler_toml() -> String {
    std::fs::read_to_string(repository().join("wrangler.toml"))
        .expect("wrangler.toml lies in the repository's root")
}

/// A text as capnp writes it.
fn text(value: &str) -> String {
    let mut quoted = String::from('"');
    for character in value.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
