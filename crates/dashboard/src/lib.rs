//! The page: three files, made from `web/` by its build script and part of the program, each once more as gzip has it.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

/// One file of the page.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    pub bytes: &'static [u8],
    /// The same, packed.
    pub gzip: &'static [u8],
    pub content_type: &'static str,
    /// Changes with its bytes; in quotes, as a header has it.
    pub etag: &'static str,
}

/// A file, and by which path it is asked for.
struct Named {
    path: &'static str,
    asset: Asset,
}

macro_rules! named {
    ($path:literal, $file:literal, $content_type:literal) => {
        Named::new(
            $path,
            include_bytes!(concat!("../dist/", $file)),
            include_bytes!(concat!("../dist/", $file, ".gz")),
            $content_type,
        )
    };
}

static ASSETS: LazyLock<[Named; 3]> = LazyLock::new(|| {
    [
        named!("/ui/", "index.html", "text/html; charset=utf-8"),
        named!("/ui/app.js", "app.js", "text/javascript; charset=utf-8"),
        named!("/ui/app.css", "app.css", "text/css; charset=utf-8"),
    ]
});

/// Returns the file for a path. The page goes by what stands behind the `#`, so these are all there are.
pub fn asset(path: &str) -> Option<Asset> {
    ASSETS.iter().find(|named| named.path == path).map(|named| named.asset)
}

/// Returns the name of the file for a path, for whoever reads it from a folder, and its type.
pub fn file(path: &str) -> Option<(&'static str, &'static str)> {
    let asset = asset(path)?;
    let name = match path.strip_prefix("/ui/")? {
        "app.js" => "app.js",
        "app.css" => "app.css",
        _ => "index.html",
    };
    Some((name, asset.content_type))
}

impl Named {
    fn new(
        path: &'static str,
        bytes: &'static [u8],
        gzip: &'static [u8],
        content_type: &'static str,
    ) -> Self {
        let digest: String = Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        // Once in the program's life.
        let etag = Box::leak(format!("\"{digest}\"").into_boxed_str());
        Self { path, asset: Asset { bytes, gzip, content_type, etag } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_three_files_and_no_more() {
        let (page, script, style) = (asset("/ui/"), asset("/ui/app.js"), asset("/ui/app.css"));
        assert!(page.is_some_and(|page| page.bytes.starts_with(b"<!doctype html>")));
        let tags = [page, script, style].map(|asset| asset.map(|asset| asset.etag).unwrap_or_default());
        assert!(tags[0] != tags[1] && tags[1] != tags[2] && tags.iter().all(|tag| tag.len() == 18));
        for path in ["/ui", "/", "/ui/index.html", "/ui/app.js.gz", "/ui/../Cargo.toml", "/ui/servers"] {
            assert!(asset(path).is_none(), "{path}");
        }
    }

    #[test]
    fn the_packed_files_are_small_enough_for_a_phone() {
        let packed = |path| asset(path).map_or(usize::MAX, |asset| asset.gzip.len());
        assert!(packed("/ui/app.js") + packed("/ui/app.css") <= 60 << 10);
        for path in ["/ui/", "/ui/app.js", "/ui/app.css"] {
            assert!(asset(path).is_some_and(|asset| asset.gzip.starts_with(&[0x1f, 0x8b])), "{path}");
        }
    }

    #[test]
    fn a_folder_has_the_same_files() {
        assert_eq!(file("/ui/").map(|(name, _)| name), Some("index.html"));
        assert_eq!(file("/ui/app.js").map(|(name, _)| name), Some("app.js"));
        assert_eq!(file("/ui/../app.js"), None);
    }
}
