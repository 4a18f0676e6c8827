//! A terminal of a program's own, and what came out of it or of a pipe so far.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
const WIDTH: usize = 100;
const HEIGHT: usize = 30;

/// What came out of a pipe so far.
pub(super) struct Heard<R> {
    pieces: mpsc::Receiver<Vec<u8>>,
    pub(super) text: String,
    pipe: std::marker::PhantomData<R>,
}

impl<R: Read + Send + 'static> Heard<R> {
    pub(super) fn of(mut pipe: R) -> Self {
        let (sender, pieces) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                let _ = sender.send(bytes[..count].to_vec());
            }
        });
        Self { pieces, text: String::new(), pipe: std::marker::PhantomData }
    }

    /// Waits for these words.
    #[track_caller]
    pub(super) fn until(&mut self, words: &str) {
        self.until_so(words, |text| text.contains(words));
    }

    /// Waits until what was heard is so.
    #[track_caller]
    pub(super) fn until_so(&mut self, what: &str, is_so: impl Fn(&str) -> bool) {
        // A screen that shows the time is never silent.
        let deadline = Instant::now() + PATIENCE;
        while !is_so(&self.text) {
            match self.pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(piece) => self.text.push_str(&String::from_utf8_lossy(&piece)),
                Err(why) => {
                    panic!("`{what}` was never shown, {why}: {}\n{}", self.text, shown(&self.text).join("\n"))
                }
            }
        }
    }

    pub(super) fn rest(&mut self) -> &str {
        while let Ok(piece) = self.pieces.recv_timeout(PATIENCE) {
            self.text.push_str(&String::from_utf8_lossy(&piece));
        }
        &self.text
    }
}

/// A program at a terminal, where keys have their meaning. It ends with what is dropped.
pub(super) struct AtTerminal {
    pub(super) child: Child,
    keys: File,
    pub(super) screen: Heard<File>,
}

impl AtTerminal {
    pub(super) fn begin(wanted: &Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: HEIGHT as u16, ws_col: WIDTH as u16, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = || File::options().read(true).write(true).open(&name).unwrap();
        // It makes the terminal the one whose keys are signals.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(wanted.get_program()).args(wanted.get_args());
        for (name, value) in wanted.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        let child = command.stdin(terminal()).stdout(terminal()).stderr(terminal()).spawn().unwrap();
        let keys = File::from(master);
        Self { child, screen: Heard::of(keys.try_clone().unwrap()), keys }
    }

    pub(super) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until these words are to be seen on the screen as it is.
    #[track_caller]
    pub(super) fn until_seen(&mut self, words: &str) {
        self.screen.until_so(words, |text| shown(text).iter().any(|row| row.contains(words)));
    }

    /// Waits until they are not to be seen any more.
    #[track_caller]
    pub(super) fn until_gone(&mut self, words: &str) {
        self.screen.until_so(words, |text| !shown(text).iter().any(|row| row.contains(words)));
    }

    pub(super) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a terminal shows that was sent this: of all sequences only those that move the cursor or clear the screen matter here.
fn shown(sent: &str) -> Vec<String> {
    let mut rows = vec![vec![' '; WIDTH]; HEIGHT];
    let (mut row, mut column) = (0, 0);
    let mut characters = sent.chars();
    while let Some(c) = characters.next() {
        match c {
            '\u{1b}' if characters.next() == Some('[') => {
                let mut sequence: String = String::new();
                let end = characters.by_ref().find(|c| {
                    sequence.push(*c);
                    c.is_ascii_alphabetic()
                });
                match end {
                    Some('H') => {
                        let mut numbers =
                            sequence.trim_end_matches('H').split(';').map(|text| text.parse().unwrap_or(1));
                        row = numbers.next().unwrap_or(1_usize).saturating_sub(1);
                        column = numbers.next().unwrap_or(1_usize).saturating_sub(1);
                    }
                    Some('J') => rows.iter_mut().for_each(|row| row.fill(' ')),
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => row += 1,
            c if !c.is_control() => {
                if let Some(cell) = rows.get_mut(row).and_then(|row| row.get_mut(column)) {
                    *cell = c;
                }
                column += 1;
            }
            _ => {}
        }
    }
    rows.into_iter().map(|row| row.into_iter().collect()).collect()
}
