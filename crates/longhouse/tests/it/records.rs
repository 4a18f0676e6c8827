//! What a proof measured, for whoever gathers the figures.

use serde_json::Value;
use std::path::Path;

/// Writes one record into the folder that `LONGHOUSE_RECORDS` names; without it, nothing.
pub(super) fn record(name: &str, figures: &Value) {
    if let Some(folder) = std::env::var_os("LONGHOUSE_RECORDS") {
        std::fs::create_dir_all(&folder).expect("a folder for records");
        std::fs::write(Path::new(&folder).join(format!("{name}.json")), format!("{figures:#}\n")).expect("written");
    }
}
