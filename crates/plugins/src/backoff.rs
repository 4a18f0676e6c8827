//! How long to wait before a plugin is tried again.

use crate::options::Rhythm;
use std::time::Duration;

/// After so many failures in a row; `chance` between 0 and 255 spreads those who failed together over the later half.
pub(crate) fn delay(rhythm: &Rhythm, failures: u32, chance: u8) -> Duration {
    let doubled = rhythm.first_delay.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
    let full = doubled.min(rhythm.longest_delay);
    full / 2 + full.saturating_mul(u32::from(chance)) / 510
}

/// Without chance everybody waits alike, which harms nobody but the machine that they all ask.
pub(crate) fn chance() -> u8 {
    let mut byte = [0];
    match getrandom::fill(&mut byte) {
        Ok(()) => byte[0],
        Err(_) => u8::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_are_spread_over_their_later_half() {
        let rhythm = Rhythm::default();
        let ms = |failures, chance| delay(&rhythm, failures, chance).as_millis();
        let cases = [
            (1, 0, 250),
            (1, 255, 500),
            (2, 255, 1_000),
            (3, 0, 1_000),
            (7, 255, 32_000),
            (8, 255, 60_000),
            (8, 0, 30_000),
            (u32::MAX, 255, 60_000),
            (0, 255, 500),
        ];
        for (failures, chance, expected) in cases {
            assert_eq!(ms(failures, chance), expected, "{failures} {chance}");
        }
    }
}
