//! What a daemon does on a person's machine: paths below one folder, files, commands in confinement, the journal, undo and previews.
//!
//! Nothing here talks to a server or reads a command line, and nothing found inside the root changes what happens here. Every
//! path is resolved by the kernel below an open handle, so there is no check to race with. Time comes in as milliseconds.

mod changes;
pub mod commands;
pub mod confinement;
mod directories;
mod errors;
pub mod files;
mod globs;
mod hashes;
pub mod journal;
mod marks;
mod previews;
mod roots;
mod times;
mod undo;

pub use changes::Change;
pub use directories::StateDirectory;
pub use errors::{Error, Failure, Fault, Result};
pub use files::Files;
pub use hashes::Sha256;
pub use marks::Mark;
pub use previews::{CommandPreview, Diff, FilePreview, Previews};
pub use roots::Root;
pub use undo::{Undo, Undone};
