//! The home folder: where models, libraries and recordings live.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The name of the home folder in a checkout and in the user's own folder.
const FOLDER_NAME: &str = ".minifleet";

/// The file at the root of a checkout of the project.
const CHECKOUT_MARK: &str = "wrangler.toml";

/// The home folder of minifleet on this machine. It need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// Why no home folder could be named.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The current directory cannot be read, for instance because it was deleted.
    #[error("the current directory cannot be read ({0}); change to one that exists, or set MINIFLEET_HOME")]
    CurrentDirectory(#[source] std::io::Error),
    /// Neither a checkout nor a user's folder.
    #[error("there is no home folder for minifleet: set MINIFLEET_HOME to a folder that it may use")]
    NoUserFolder,
}

impl Home {
    /// The folder named by `MINIFLEET_HOME`; else `.minifleet` in the nearest folder, from the current one upwards,
    /// that holds one or is a checkout of the project; else `.minifleet` in the user's folder.
    pub fn locate() -> Result<Self, HomeError> {
        let current = std::env::current_dir().map_err(HomeError::CurrentDirectory)?;
        Self::choose(std::env::var_os("MINIFLEET_HOME"), &current, std::env::home_dir())
    }

    /// A home folder at a place of the caller's choice.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn choose(named: Option<OsString>, current: &Path, user: Option<PathBuf>) -> Result<Self, HomeError> {
        if let Some(named) = named.filter(|value| !value.is_empty()) {
            return Ok(Self::at(current.join(named)));
        }
        let checkout = current
            .ancestors()
            .find(|folder| folder.join(FOLDER_NAME).is_dir() || folder.join(CHECKOUT_MARK).is_file());
        match (checkout, user.filter(|folder| !folder.as_os_str().is_empty())) {
            (Some(folder), _) => Ok(Self::at(folder.join(FOLDER_NAME))),
            (None, Some(folder)) => Ok(Self::at(folder.join(FOLDER_NAME))),
            (None, None) => Err(HomeError::NoUserFolder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_wins_and_an_empty_one_counts_as_unset() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(CHECKOUT_MARK), "").unwrap();
        let choose = |named: &str| Home::choose(Some(named.into()), folder.path(), None).unwrap();
        assert_eq!(choose("/srv/minifleet").root(), Path::new("/srv/minifleet"));
        assert_eq!(choose("here").root(), folder.path().join("here"), "relative to the current directory");
        assert_eq!(choose("").root(), folder.path().join(FOLDER_NAME));
    }

    #[test]
    fn the_nearest_checkout_or_existing_home_above_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("edge/src");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(folder.path().join(CHECKOUT_MARK), "").unwrap();
        let home = || Home::choose(None, &inner, Some("/home/someone".into())).unwrap();
        assert_eq!(home().root(), folder.path().join(FOLDER_NAME));
        std::fs::create_dir(folder.path().join("edge").join(FOLDER_NAME)).unwrap();
        assert_eq!(home().root(), folder.path().join("edge").join(FOLDER_NAME));
    }

    #[test]
    fn outside_a_checkout_the_users_folder_is_used_and_without_one_it_says_what_to_set() {
        let nowhere = Path::new("/nonexistent-for-this-test/a");
        let home = Home::choose(None, nowhere, Some("/home/someone".into())).unwrap();
        assert_eq!(home.root(), Path::new("/home/someone/.minifleet"));
        let error = Home::choose(None, nowhere, None).unwrap_err();
        assert!(error.to_string().contains("MINIFLEET_HOME"));
    }
}
