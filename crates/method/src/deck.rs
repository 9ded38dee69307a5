//! Exact percentages in random order.

use crate::rng::Rng;

/// A deck of 100 cards of which exactly `percent` are marked. Drawing goes through a freshly shuffled deck each
/// time, so every 100 draws hold exactly that many marks, in an order that nothing can guess.
#[derive(Clone, Debug)]
pub(crate) struct Deck {
    cards: [bool; 100],
    drawn: usize,
}

impl Deck {
    /// `percent` must be at most 100.
    pub(crate) fn new(percent: u8) -> Self {
        let mut cards = [false; 100];
        cards[..usize::from(percent)].fill(true);
        Self { cards, drawn: 0 }
    }

    /// Draws a card: one step of the Fisher-Yates shuffle, done as the cards are needed.
    #[inline]
    pub(crate) fn draw(&mut self, rng: &mut Rng) -> bool {
        let left = self.cards.len() - self.drawn;
        self.cards.swap(self.drawn, self.drawn + rng.below(left as u64) as usize);
        let card = self.cards[self.drawn];
        self.drawn = (self.drawn + 1) % self.cards.len();
        card
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hundred_draws_hold_the_exact_share() {
        for percent in 0..=100 {
            let (mut deck, mut rng) = (Deck::new(percent), Rng::new(u64::from(percent)));
            for _ in 0..20 {
                let marks = (0..100).filter(|_| deck.draw(&mut rng)).count();
                assert_eq!(marks, usize::from(percent));
            }
        }
    }

    #[test]
    fn every_place_is_marked_equally_often() {
        let (mut deck, mut rng) = (Deck::new(30), Rng::new(5));
        let mut marks = [0u32; 100];
        for _ in 0..10_000 {
            for mark in &mut marks {
                *mark += u32::from(deck.draw(&mut rng));
            }
        }
        // Binomial(10000, 0.3): mean 3000, standard deviation 46; five of them on each side.
        assert!(marks.iter().all(|m| (2770..=3230).contains(m)), "{marks:?}");
    }
}
