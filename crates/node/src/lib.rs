//! The daemon on a person's machine: paths below one folder, files, commands in confinement, the journal, undo and previews, and
//! the loop that does what a house asks for.
//!
//! Nothing here opens a connection or reads a command line, and nothing found inside the root changes what happens here. Every
//! path is resolved by the kernel below an open handle, so there is no check to race with. Time comes in as milliseconds.

mod changes;
mod checks;
pub mod commands;
pub mod confinement;
mod daemon;
mod directories;
mod errors;
pub mod files;
mod hands;
mod hashes;
mod houses;
pub mod journal;
mod marks;
mod previews;
mod roots;
mod times;
mod undo;

pub use changes::Change;
pub use checks::{Identity, Vetoes};
pub use daemon::{Daemon, News};
pub use directories::StateDirectory;
pub use errors::{Error, Failure, Fault, Result};
pub use files::Files;
pub use hands::{Hands, Outcome, Question, Setup};
pub use hashes::Sha256;
pub use houses::{House, HouseError};
pub use marks::Mark;
pub use previews::{CommandPreview, Diff, FilePreview, Previews};
pub use roots::Root;
pub use undo::{Undo, Undone};
