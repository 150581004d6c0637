//! Where the service is and which key opens it.
//!
//! The address comes from, in this order: the argument of [`find`] (a flag), `MINIFLEET_URL`, the profile
//! `.minifleet/client.toml` of the working folder or the nearest folder above it, the profile
//! `~/.config/minifleet/client.toml`. The key comes from `MINIFLEET_API_KEY`, else from the profile. A profile's key is
//! never sent to another address than the profile's own.
//!
//! ```toml
//! url = "https://minifleet.example.com"
//! api_key = "…"
//! admin_key = "…"   # of an operator
//! ```
//!
//! An operator's key is found the same way by [`find_admin`]: `MINIFLEET_ADMIN_KEY`, else `admin_key` of the profile.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use url::Url;

/// Environment variable with the address.
pub const URL_VARIABLE: &str = "MINIFLEET_URL";
/// Environment variable with the key.
pub const KEY_VARIABLE: &str = "MINIFLEET_API_KEY";
/// Environment variable with an operator's key.
pub const ADMIN_KEY_VARIABLE: &str = "MINIFLEET_ADMIN_KEY";
/// The profile inside a project's folder.
pub const PROJECT_PROFILE: &str = ".minifleet/client.toml";
/// The profile inside the folder of the user's configuration.
pub const USER_PROFILE: &str = "minifleet/client.toml";

/// An address and a key that belong together.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Address of the edge: http or https, with a trailing slash.
    pub url: Url,
    /// Key of a client, or of an operator.
    pub api_key: ApiKey,
}

/// A key. `Debug` does not show it.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes a key; surrounding white space is not part of it.
    pub fn new(key: &str) -> Result<Self, ConfigError> {
        let key = key.trim();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ConfigError::InvalidKey);
        }
        Ok(ApiKey(key.to_owned()))
    }

    /// The key itself, for the `Authorization` header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(hidden)")
    }
}

/// No usable address or key.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Neither a flag, nor the environment, nor a profile names an address.
    #[error(
        "no minifleet service is configured: start a local one with scripts/dev (it writes {PROJECT_PROFILE}), or give --url \
         (or {URL_VARIABLE}) and {KEY_VARIABLE}, or write url and api_key into ~/.config/{USER_PROFILE}"
    )]
    NothingConfigured,
    /// An address without a key.
    #[error("no key for {url}: set {hint}")]
    NoKey {
        /// The address.
        url: Url,
        /// The environment variable that would give it, and why the profile's key was not taken, if there is a profile.
        hint: String,
    },
    /// The key has characters that no key has.
    #[error(
        "the key is empty or has characters that no key has: check {KEY_VARIABLE} or api_key in the profile (for operators: \
         {ADMIN_KEY_VARIABLE} or admin_key)"
    )]
    InvalidKey,
    /// The address cannot be read.
    #[error(
        "{text:?} is not the address of a service ({reason}): write it like https://minifleet.example.com"
    )]
    InvalidUrl {
        /// The address as given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A profile exists but cannot be used.
    #[error("cannot use the profile {path}: {reason}", path = path.display())]
    Profile {
        /// Path of the profile.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Everything outside the program that an address or a key can come from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Address given by a flag.
    pub url: Option<String>,
    /// `MINIFLEET_URL`.
    pub environment_url: Option<String>,
    /// `MINIFLEET_API_KEY`.
    pub environment_key: Option<String>,
    /// `MINIFLEET_ADMIN_KEY`.
    pub environment_admin_key: Option<String>,
    /// Where the search for a project's profile starts.
    pub working_folder: Option<PathBuf>,
    /// `~/.config` or `$XDG_CONFIG_HOME`.
    pub user_config_folder: Option<PathBuf>,
}

impl Sources {
    /// Those of this process.
    pub fn of_process(url: Option<String>) -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let user_config_folder = set("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".config")));
        Sources {
            url,
            environment_url: set(URL_VARIABLE),
            environment_key: set(KEY_VARIABLE),
            environment_admin_key: set(ADMIN_KEY_VARIABLE),
            working_folder: std::env::current_dir().ok(),
            user_config_folder,
        }
    }

    /// The address and a client's key that these sources give.
    pub fn resolve(self) -> Result<Profile, ConfigError> {
        self.resolve_for(&CLIENT)
    }

    /// The address and an operator's key that these sources give.
    pub fn resolve_admin(self) -> Result<Profile, ConfigError> {
        self.resolve_for(&OPERATOR)
    }

    fn resolve_for(self, role: &Role) -> Result<Profile, ConfigError> {
        let chosen_url = self.url.clone().or(self.environment_url.clone());
        let chosen_url = chosen_url.map(|text| parse_url(&text)).transpose()?;
        let environment_key = (role.of_environment)(&self).map(|key| ApiKey::new(&key)).transpose()?;
        if let (Some(url), Some(api_key)) = (&chosen_url, &environment_key) {
            return Ok(Profile { url: url.clone(), api_key: api_key.clone() });
        }

        let path = find_profile(self.working_folder.as_deref(), self.user_config_folder.as_deref());
        let stored = path.as_deref().map(read_profile).transpose()?;
        let url = match (chosen_url, &stored) {
            (Some(url), _) => url,
            (None, Some(stored)) => stored.url.clone(),
            (None, None) => return Err(ConfigError::NothingConfigured),
        };
        let api_key = match (environment_key, stored, path) {
            (Some(key), _, _) => key,
            (None, Some(stored), _) if stored.url.origin() == url.origin() => match (role.of_profile)(stored)
            {
                Some(key) => key,
                None => {
                    let hint = format!("{}, or {} in the profile", role.variable, role.name_in_profile);
                    return Err(ConfigError::NoKey { url, hint });
                }
            },
            (None, Some(stored), Some(path)) => {
                let hint = format!(
                    "{} (the profile {} holds a key for {} only)",
                    role.variable,
                    path.display(),
                    stored.url
                );
                return Err(ConfigError::NoKey { url, hint });
            }
            (None, _, _) => {
                return Err(ConfigError::NoKey { url, hint: role.variable.to_owned() });
            }
        };
        Ok(Profile { url, api_key })
    }
}

/// The address and an operator's key for this process; `url` is what a flag said, if anything.
pub fn find_admin(url: Option<String>) -> Result<Profile, ConfigError> {
    Sources::of_process(url).resolve_admin()
}

/// Where the key of a role comes from.
struct Role {
    variable: &'static str,
    name_in_profile: &'static str,
    of_environment: fn(&Sources) -> Option<String>,
    of_profile: fn(StoredProfile) -> Option<ApiKey>,
}

const CLIENT: Role = Role {
    variable: KEY_VARIABLE,
    name_in_profile: "api_key",
    of_environment: |sources| sources.environment_key.clone(),
    of_profile: |profile| profile.api_key,
};

const OPERATOR: Role = Role {
    variable: ADMIN_KEY_VARIABLE,
    name_in_profile: "admin_key",
    of_environment: |sources| sources.environment_admin_key.clone(),
    of_profile: |profile| profile.admin_key,
};

/// The address and a client's key for this process; `url` is what a flag said, if anything.
pub fn find(url: Option<String>) -> Result<Profile, ConfigError> {
    Sources::of_process(url).resolve()
}

struct StoredProfile {
    url: Url,
    api_key: Option<ApiKey>,
    admin_key: Option<ApiKey>,
}

#[derive(Deserialize)]
struct ProfileFile {
    url: String,
    api_key: Option<String>,
    admin_key: Option<String>,
}

/// Looks into the working folder and every folder above it, like git does, then into the user's configuration.
fn find_profile(working_folder: Option<&Path>, user_config_folder: Option<&Path>) -> Option<PathBuf> {
    let of_project = working_folder
        .into_iter()
        .flat_map(Path::ancestors)
        .map(|folder| folder.join(PROJECT_PROFILE))
        .find(|path| path.is_file());
    of_project
        .or_else(|| user_config_folder.map(|folder| folder.join(USER_PROFILE)).filter(|path| path.is_file()))
}

fn read_profile(path: &Path) -> Result<StoredProfile, ConfigError> {
    let unusable = |reason: String| ConfigError::Profile { path: path.to_owned(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
    let file: ProfileFile = toml::from_str(&text).map_err(|error| unusable(error.message().to_owned()))?;
    let url = parse_url(&file.url).map_err(|error| unusable(error.to_string()))?;
    let key = |text: Option<String>| {
        text.map(|key| ApiKey::new(&key)).transpose().map_err(|error| unusable(error.to_string()))
    };
    Ok(StoredProfile { url, api_key: key(file.api_key)?, admin_key: key(file.admin_key)? })
}

/// Accepts http and https; a path, query or fragment has no place in the address of an edge.
fn parse_url(text: &str) -> Result<Url, ConfigError> {
    let invalid = |reason: &str| ConfigError::InvalidUrl { text: text.to_owned(), reason: reason.to_owned() };
    let url = Url::parse(text.trim()).map_err(|error| invalid(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("it does not begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("it contains a user name; the key has its own place"));
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(invalid("it goes on after host and port"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folder");
        std::fs::write(path, text).expect("profile");
    }

    #[test]
    fn a_profile_is_found_from_a_folder_deep_inside_the_project() {
        let project = tempfile::tempdir().expect("folder");
        write(project.path(), PROJECT_PROFILE, "url = \"http://127.0.0.1:8787\"\napi_key = \"secret\"\n");
        let deep = project.path().join("a/b/c");
        std::fs::create_dir_all(&deep).expect("folders");
        let found = Sources { working_folder: Some(deep), ..Sources::default() }.resolve().expect("profile");
        assert_eq!((found.url.as_str(), found.api_key.expose()), ("http://127.0.0.1:8787/", "secret"));
        assert!(!format!("{found:?}").contains("secret"));
    }

    #[test]
    fn the_key_of_a_profile_is_never_sent_to_another_address() {
        let home = tempfile::tempdir().expect("folder");
        write(home.path(), USER_PROFILE, "url = \"https://good.example\"\napi_key = \"secret\"\n");
        let sources = |url: &str| Sources {
            url: Some(url.to_owned()),
            user_config_folder: Some(home.path().to_owned()),
            ..Sources::default()
        };
        assert_eq!(
            sources("https://good.example").resolve().expect("same address").api_key.expose(),
            "secret"
        );
        let error = sources("https://other.example").resolve().expect_err("another address");
        assert!(
            error.to_string().contains(KEY_VARIABLE) && error.to_string().contains("good.example"),
            "{error}"
        );
    }

    #[test]
    fn a_clients_key_is_never_taken_for_an_operators() {
        let home = tempfile::tempdir().expect("folder");
        write(home.path(), USER_PROFILE, "url = \"https://a.example\"\napi_key = \"c\"\nadmin_key = \"o\"\n");
        let sources = Sources { user_config_folder: Some(home.path().to_owned()), ..Sources::default() };
        assert_eq!(sources.clone().resolve().expect("a client's").api_key.expose(), "c");
        assert_eq!(sources.clone().resolve_admin().expect("an operator's").api_key.expose(), "o");
        write(home.path(), USER_PROFILE, "url = \"https://a.example\"\napi_key = \"c\"\n");
        let environment = Sources { environment_key: Some("e".into()), ..sources.clone() };
        let error = environment.resolve_admin().expect_err("only clients' keys").to_string();
        assert!(error.contains(ADMIN_KEY_VARIABLE) && error.contains("admin_key"), "{error}");
        let environment = Sources { environment_admin_key: Some("e".into()), ..sources };
        assert_eq!(environment.resolve_admin().expect("from the environment").api_key.expose(), "e");
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_the_environment_over_a_profile() {
        let home = tempfile::tempdir().expect("folder");
        write(home.path(), USER_PROFILE, "url = \"https://profile.example\"\napi_key = \"of-profile\"\n");
        let sources = Sources {
            environment_url: Some("https://environment.example".into()),
            environment_key: Some("of-environment".into()),
            user_config_folder: Some(home.path().to_owned()),
            ..Sources::default()
        };
        let found = sources.clone().resolve().expect("environment");
        assert_eq!(
            (found.url.host_str(), found.api_key.expose()),
            (Some("environment.example"), "of-environment")
        );
        let found = Sources { url: Some("http://flag.example".into()), ..sources }.resolve().expect("flag");
        assert_eq!(found.url.host_str(), Some("flag.example"));
    }

    #[test]
    fn nothing_configured_says_what_to_do() {
        let error = Sources::default().resolve().expect_err("nothing");
        let text = error.to_string();
        assert!(["scripts/dev", "--url", KEY_VARIABLE].iter().all(|word| text.contains(word)), "{text}");
    }

    #[test]
    fn addresses_that_cannot_be_one_are_refused_with_the_reason() {
        for text in
            ["minifleet.example", "ftp://x.example", "https://me:pw@x.example", "https://x.example/v1"]
        {
            assert!(matches!(parse_url(text), Err(ConfigError::InvalidUrl { .. })), "{text}");
        }
    }
}
