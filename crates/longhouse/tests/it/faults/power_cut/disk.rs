//! A disk that keeps what was synced and may keep, drop or tear the rest, as POSIX allows it.

use super::trace::{Act, Event};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use testkit::Random;

/// A disk writes these whole or not at all.
const SECTOR: usize = 512;

#[derive(Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

#[derive(Default, Clone)]
struct File {
    synced: Vec<u8>,
    unsynced: Vec<Change>,
    length: usize,
}

enum Naming {
    Made(String, usize),
    Removed(String),
    Renamed(String, String),
}

/// Files are known by number; names are synced with the directory.
#[derive(Default)]
pub(super) struct Disk {
    files: Vec<File>,
    names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
    unsynced_names: Vec<Naming>,
}

/// What is found after the power is back.
pub(super) struct Surface(BTreeMap<String, Vec<u8>>);

impl Disk {
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.act {
            Act::Sync if event.file.is_empty() => {
                let changes = std::mem::take(&mut self.unsynced_names);
                changes.iter().for_each(|change| rename(&mut self.synced_names, change));
            }
            Act::Sync => {
                let file = self.file(&event.file);
                let changes = std::mem::take(&mut file.unsynced);
                changes.iter().for_each(|change| change_bytes(&mut file.synced, change, |_| true));
            }
            Act::Create => drop(self.file(&event.file)),
            Act::Write(offset, bytes) => {
                let file = self.file(&event.file);
                let offset = offset.map_or(file.length, |offset| usize::try_from(offset).unwrap());
                file.length = file.length.max(offset + bytes.0.len());
                file.unsynced.push(Change::Write(offset, bytes.0.clone()));
            }
            Act::Truncate(length) => {
                let file = self.file(&event.file);
                file.length = usize::try_from(*length).unwrap();
                file.unsynced.push(Change::Truncate(file.length));
            }
            Act::Unlink => self.name(Naming::Removed(event.file.clone())),
            Act::Rename(to) => self.name(Naming::Renamed(event.file.clone(), to.clone())),
        }
    }

    fn name(&mut self, change: Naming) {
        rename(&mut self.names, &change);
        self.unsynced_names.push(change);
    }

    fn file(&mut self, name: &str) -> &mut File {
        let number = self.names.get(name).copied().unwrap_or_else(|| {
            self.files.push(File::default());
            let number = self.files.len() - 1;
            self.name(Naming::Made(name.to_owned(), number));
            number
        });
        &mut self.files[number]
    }

    /// As after a power cut now. Cuts differ in how much of what was not synced they leave.
    pub(super) fn after_a_cut(&self, chance: &mut Random) -> Surface {
        let kept_of_ten = [0, 10, 5, 9, 1][chance.index(5)];
        let mut names = self.synced_names.clone();
        // A journal keeps changes of names in their order.
        let kept = chance.index(self.unsynced_names.len() + 1);
        self.unsynced_names[..kept].iter().for_each(|change| rename(&mut names, change));
        let mut survives = |file: &File| {
            let mut bytes = file.synced.clone();
            for change in &file.unsynced {
                change_bytes(&mut bytes, change, |_| chance.below(10) < kept_of_ten);
            }
            bytes
        };
        let mut surface: BTreeMap<String, Vec<u8>> =
            names.into_iter().map(|(name, number)| (name, survives(&self.files[number]))).collect();
        // The shared memory beside the log is never synced: anything may be in it.
        let leftover = (0..4096).flat_map(|_| chance.draw().to_le_bytes()).collect();
        surface.insert("longhouse.db-shm".to_owned(), leftover);
        Surface(surface)
    }

    /// As if nothing had survived that was not synced.
    pub(super) fn after_dropping_all(&self) -> Surface {
        let synced = |(name, number): (&String, &usize)| (name.clone(), self.files[*number].synced.clone());
        Surface(self.synced_names.iter().map(synced).collect())
    }
}

impl Surface {
    pub(super) fn write(&self, folder: &Path) {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).unwrap();
        for (name, bytes) in &self.0 {
            let path = folder.join(name);
            std::fs::write(&path, bytes).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

fn rename(names: &mut BTreeMap<String, usize>, change: &Naming) {
    match change {
        Naming::Made(name, number) => drop(names.insert(name.clone(), *number)),
        Naming::Removed(name) => drop(names.remove(name)),
        Naming::Renamed(from, to) => {
            if let Some(number) = names.remove(from) {
                names.insert(to.clone(), number);
            }
        }
    }
}

/// Does a change, sector by sector, as far as `keeps` lets it.
fn change_bytes(bytes: &mut Vec<u8>, change: &Change, mut keeps: impl FnMut(usize) -> bool) {
    match change {
        Change::Truncate(length) if keeps(*length) => bytes.resize(*length, 0),
        Change::Truncate(_) => {}
        Change::Write(offset, new) => {
            let mut at = 0;
            while at < new.len() {
                let length = (SECTOR - (offset + at) % SECTOR).min(new.len() - at);
                if keeps(offset + at) {
                    let end = offset + at + length;
                    bytes.resize(bytes.len().max(end), 0);
                    bytes[offset + at..end].copy_from_slice(&new[at..at + length]);
                }
                at += length;
            }
        }
    }
}
