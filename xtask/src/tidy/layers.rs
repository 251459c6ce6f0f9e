//! Dependencies allowed between crates.
//!
//! Cargo refuses cycles. This check also refuses dependencies that point up without closing a
//! cycle, such as one of the pool on the log.

use super::{Text, Violation, violation};

/// Each crate, from the bottom up, with those of the project that it may depend on.
const LAYERS: &[(&str, &[&str])] = &[
    ("clearway-base", &[]),
    // Output of programs; the engine prints nothing.
    ("clearway-console", &[]),
    // Keys and values as bytes, for any store.
    ("clearway-codec", &[]),
    ("clearway-sync", &["clearway-base"]),
    // The compiler works with any database, and knows nothing of the engine.
    ("clearway-reorder", &[]),
    ("clearway-disk", &["clearway-base", "clearway-sync"]),
    // What tests of all layers share. Programs that test or measure may depend on it; the engine
    // may in its tests only.
    ("clearway-testkit", &["clearway-base", "clearway-sync", "clearway-disk"]),
    ("clearway-log", &["clearway-base", "clearway-sync", "clearway-disk"]),
    // The pool knows the log only as a trait of its own.
    ("clearway-pool", &["clearway-base", "clearway-sync", "clearway-disk"]),
    // Locks know nothing of pages, trees or files.
    ("clearway-lock", &["clearway-base", "clearway-sync"]),
    // The tree knows the log and the transaction only as a trait of its own.
    ("clearway-tree", &["clearway-base", "clearway-sync", "clearway-pool", "clearway-lock"]),
    (
        "clearway-txn",
        &[
            "clearway-base",
            "clearway-sync",
            "clearway-disk",
            "clearway-log",
            "clearway-pool",
            "clearway-lock",
            "clearway-tree",
        ],
    ),
    (
        "clearway",
        &[
            "clearway-base",
            "clearway-sync",
            "clearway-disk",
            "clearway-log",
            "clearway-pool",
            "clearway-lock",
            "clearway-tree",
            "clearway-txn",
        ],
    ),
    // What the engine is compared with: plugs into the seams of its parts.
    (
        "clearway-variants",
        &[
            "clearway-base",
            "clearway-sync",
            "clearway-log",
            "clearway-lock",
            "clearway-txn",
            "clearway",
        ],
    ),
    // Programs around the engine see its façade, and the vocabulary of threads.
    ("clearway-workloads", &["clearway", "clearway-sync", "clearway-testkit"]),
    ("clearway-check", &["clearway-console", "clearway", "clearway-sync", "clearway-testkit"]),
    // The prover uses the whole engine, and parts of it directly.
    (
        "clearway-prove",
        &[
            "clearway-console",
            "clearway-base",
            "clearway-sync",
            "clearway-disk",
            "clearway-log",
            "clearway-pool",
            "clearway-lock",
            "clearway-tree",
            "clearway-txn",
            "clearway",
            "clearway-variants",
            "clearway-testkit",
        ],
    ),
    (
        "clearway-fuzz",
        &[
            "clearway-console",
            "clearway-base",
            "clearway-codec",
            "clearway-sync",
            "clearway-disk",
            "clearway-log",
            "clearway-pool",
            "clearway-lock",
            "clearway-tree",
            "clearway-txn",
            "clearway-testkit",
        ],
    ),
    (
        "clearway-cli",
        &[
            "clearway-console",
            "clearway",
            "clearway-workloads",
            "clearway-reorder",
            "clearway-sync",
            "clearway-testkit",
        ],
    ),
    // The lab measures the whole engine, and parts of it alone.
    (
        "clearway-lab",
        &[
            "clearway-console",
            "clearway-base",
            "clearway-sync",
            "clearway-disk",
            "clearway-log",
            "clearway-pool",
            "clearway-lock",
            "clearway-tree",
            "clearway-txn",
            "clearway",
            "clearway-variants",
            "clearway-testkit",
            "clearway-workloads",
            "clearway-reorder",
        ],
    ),
    ("xtask", &["clearway-console", "clearway-testkit"]),
];

pub(crate) fn check(manifest: &Text) -> Vec<Violation> {
    let mut section = "";
    let mut name = None;
    let mut dependencies = Vec::new();
    for (index, line) in manifest.text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_matches(['[', ']']);
            if let Some((kind, dependency)) = section.rsplit_once('.')
                && is_dependencies(kind)
            {
                dependencies.push((index + 1, dependency.trim_matches('"')));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        // `clearway-log = …` and `clearway-log.workspace = true`
        let key = key.trim().split('.').next().unwrap_or_default().trim_matches('"');
        if is_dependencies(section) {
            dependencies.push((index + 1, key));
        } else if key == "name" && name.is_none() {
            name = Some(value.trim().trim_matches('"'));
        }
    }
    let Some(name) = name else { return Vec::new() }; // the workspace's own manifest
    let layer = LAYERS.iter().find(|(layer, _)| *layer == name);
    let Some((_, allowed)) = layer else {
        let message = format!("the crate `{name}` is in no layer: add it to xtask's table");
        return vec![violation(&manifest.path, 1, message)];
    };
    let ours = |dependency: &str| LAYERS.iter().any(|(layer, _)| *layer == dependency);
    dependencies
        .into_iter()
        .filter(|(_, dependency)| {
            let unknown = dependency.starts_with("clearway") && !ours(dependency);
            (ours(dependency) || unknown) && !allowed.contains(dependency)
        })
        .map(|(line, dependency)| {
            let message = format!("`{name}` may not depend on `{dependency}`");
            violation(&manifest.path, line, message)
        })
        .collect()
}

/// Dependencies of the crate itself; those of its tests are free.
fn is_dependencies(section: &str) -> bool {
    let kind = section.rsplit('.').next().unwrap_or(section);
    matches!(kind, "dependencies" | "build-dependencies") && !section.starts_with("workspace")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_manifest(name: &str, rest: &str) -> Vec<usize> {
        let text = format!("[package]\nname = \"{name}\"\n{rest}");
        let found = check(&Text { path: "Cargo.toml".to_string(), text });
        found.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn table_has_no_arrow_that_points_up() {
        for (index, (name, allowed)) in LAYERS.iter().enumerate() {
            for dependency in *allowed {
                let below = LAYERS[..index].iter().any(|(layer, _)| layer == dependency);
                assert!(below, "{name} → {dependency}");
            }
        }
    }

    #[test]
    fn forbidden_edges_are_reported_in_every_spelling() {
        for edge in [
            "[dependencies]\nclearway-log = { workspace = true }\n",
            "[dependencies]\nclearway-log.workspace = true\n",
            "[build-dependencies]\nclearway-log = { path = \"../log\" }\n",
            "[target.'cfg(unix)'.dependencies]\nclearway-log = \"1\"\n",
            "[dependencies]\nclearway-unheard-of = \"1\"\n",
        ] {
            assert_eq!(check_manifest("clearway-pool", edge), [4], "{edge}");
        }
        assert_eq!(check_manifest("clearway-pool", "[dependencies.clearway-log]\n"), [3]);
    }

    #[test]
    fn allowed_edges_and_other_peoples_crates_pass() {
        let edges = "[dependencies]\nclearway-disk = { workspace = true }\nrustix = \"1\"\n\
                     [dev-dependencies]\nclearway-txn = { workspace = true }\n\
                     [[bin]]\nname = \"clearway\"\n";
        assert!(check_manifest("clearway-pool", edges).is_empty());
        let workspace = "[workspace.dependencies]\nclearway-log = { path = \"crates/log\" }\n";
        let text = Text { path: "Cargo.toml".to_string(), text: workspace.to_string() };
        assert!(check(&text).is_empty());
    }

    #[test]
    fn crate_without_a_layer_is_reported() {
        assert_eq!(check_manifest("clearway-attic", ""), [1]);
    }
}
