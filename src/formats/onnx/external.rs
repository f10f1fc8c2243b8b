//! Bytes of tensors that lie in files beside the model.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use prost::bytes::Bytes;

use super::proto;
use crate::formats::map_file;
use crate::{Result, bail, ensure, error};

/// The folder of a model, and the files in it that were opened.
#[derive(Debug, Default)]
pub struct External {
    folder: Option<PathBuf>,
    /// Where the files may really be: the folder, and the folder that the model file itself is linked to.
    roots: Vec<PathBuf>,
    files: Mutex<HashMap<String, Bytes>>,
}

impl External {
    /// For a model that was given as bytes: it has no folder.
    pub fn none() -> Self {
        Self::default()
    }

    /// For a model file.
    pub fn beside(model: &Path) -> Self {
        let folder = match model.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let mut roots = Vec::new();
        roots.extend(folder.canonicalize());
        roots.extend(model.canonicalize().ok().and_then(|real| Some(real.parent()?.to_path_buf())));
        Self { folder: Some(folder), roots, files: Mutex::default() }
    }

    /// The bytes that these entries (location, offset, length) name.
    pub fn bytes(&self, entries: &[proto::Entry]) -> Result<Bytes> {
        let value = |key: &str| entries.iter().find(|e| e.key == key).map(|e| e.value.as_str());
        let number = |key: &str| match value(key) {
            None => Ok(None),
            Some(text) => match text.trim().parse::<usize>() {
                Ok(n) => Ok(Some(n)),
                Err(_) => Err(error!(File, "external data has {key} \"{text}\"")),
            },
        };
        let Some(location) = value("location") else { bail!(File, "external data has no location") };
        let file = self.file(location)?;
        let offset = number("offset")?.unwrap_or(0);
        let length = number("length")?.unwrap_or(file.len().saturating_sub(offset));
        let end = offset.checked_add(length).filter(|&end| end <= file.len());
        let Some(end) = end else {
            bail!(File, "external data needs {length} bytes at {offset} of \"{location}\", which has {}", file.len())
        };
        Ok(file.slice(offset..end))
    }

    fn file(&self, location: &str) -> Result<Bytes> {
        let Some(folder) = &self.folder else {
            bail!(File, "external data \"{location}\" of a model that was given as bytes, without a folder")
        };
        let mut files = self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(bytes) = files.get(location) {
            return Ok(bytes.clone());
        }
        let inside = Path::new(location).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        ensure!(inside && !location.is_empty(), File, "external data \"{location}\" is outside of the model's folder");
        let path = folder.join(location);
        let real = path.canonicalize().map_err(|e| error!(File, "external data \"{location}\": {e}"))?;
        ensure!(
            self.roots.iter().any(|root| real.starts_with(root)),
            File,
            "external data \"{location}\" is outside of the model's folder"
        );
        let bytes = map_file(&real).map_err(|e| error!(File, "external data \"{location}\": {e}"))?;
        files.insert(location.into(), bytes.clone());
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(pairs: &[(&str, &str)]) -> Vec<proto::Entry> {
        pairs.iter().map(|(k, v)| proto::Entry { key: k.to_string(), value: v.to_string() }).collect()
    }

    #[test]
    fn files_outside_the_folder_are_refused() {
        let folder = std::env::temp_dir().join(format!("caldera-external-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inner")).expect("a folder");
        std::fs::write(folder.join("secret"), b"secret").expect("a file");
        std::fs::write(folder.join("inner/data"), b"0123456789").expect("a file");
        let external = External::beside(&folder.join("inner/model.onnx"));
        let read = |pairs: &[(&str, &str)]| external.bytes(&entries(pairs));
        assert_eq!(read(&[("location", "data"), ("offset", "2"), ("length", "3")]).expect("inside"), "234");
        assert_eq!(read(&[("location", "./data"), ("offset", "8")]).expect("inside"), "89");
        let absolute = folder.join("secret").display().to_string();
        for location in ["../secret", "inner/../../secret", &absolute, "", ".", "absent"] {
            assert!(read(&[("location", location)]).is_err(), "{location}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.join("secret"), folder.join("inner/link")).expect("a link");
            assert!(read(&[("location", "link")]).is_err());
        }
        for (offset, length) in [("8", "3"), ("11", "0"), ("18446744073709551615", "2"), ("-1", "1"), ("0", "x")] {
            assert!(read(&[("location", "data"), ("offset", offset), ("length", length)]).is_err(), "{offset} {length}");
        }
        assert!(External::none().bytes(&entries(&[("location", "data")])).is_err());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
