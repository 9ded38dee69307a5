//! Least squares with unknowns that are not negative.

#[derive(Clone, Debug)]
pub(crate) struct Equation<const N: usize> {
    pub(crate) coefficients: [f64; N],
    pub(crate) sum: f64,
    pub(crate) weight: f64,
}

/// Squared residuals that differ by less are the same.
pub(crate) const SAME: f64 = 1e-6;
/// With a smaller pivot, as a share of the unknown's scale, the equations do not determine it.
const SINGULAR: f64 = 1e-10;

/// The least squares of relative residuals, and the unknowns; of equal solutions, the one with the fewest and first unknowns
/// above zero. Sums must be above zero.
///
/// The solution solves the unconstrained problem of its unknowns above zero (Lawson and Hanson, Solving Least Squares Problems,
/// 1974, chapter 23). N is small: each set of unknowns is tried.
pub(crate) fn non_negative<const N: usize>(equations: &[Equation<N>]) -> ([f64; N], f64) {
    let row = |one: &Equation<N>| one.coefficients.map(|coefficient| one.weight * coefficient / one.sum);
    let rows: Vec<[f64; N]> = equations.iter().map(row).collect();
    let sums: Vec<f64> = equations.iter().map(|equation| equation.weight).collect();
    let mut sets: Vec<u32> = (0..1 << N).collect();
    sets.sort_by_key(|set| (set.count_ones(), *set));
    let mut best = ([0.0; N], f64::INFINITY);
    for set in sets {
        let Some(unknowns) = unconstrained(&rows, &sums, set) else { continue };
        let squares = |(row, sum): (&[f64; N], &f64)| (dot(row, &unknowns) - sum).powi(2);
        let residual: f64 = rows.iter().zip(&sums).map(squares).sum();
        if unknowns.iter().all(|value| *value >= 0.0) && residual < best.1 - SAME {
            best = (unknowns, residual);
        }
    }
    best
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Gauss's elimination of normal equations. `None` if they do not determine the set.
fn unconstrained<const N: usize>(rows: &[[f64; N]], sums: &[f64], set: u32) -> Option<[f64; N]> {
    let of_set: Vec<usize> = (0..N).filter(|unknown| set & 1 << unknown != 0).collect();
    let columns: Vec<Vec<f64>> =
        of_set.iter().map(|unknown| rows.iter().map(|row| row[*unknown]).collect()).collect();
    // Unknowns differ by orders of magnitude.
    let scales: Vec<f64> = columns.iter().map(|column| dot(column, column).sqrt()).collect();
    if scales.iter().any(|scale| *scale <= 0.0 || !scale.is_finite()) {
        return None;
    }
    let size = of_set.len();
    let line = |(column, scale): (&Vec<f64>, &f64)| {
        let normal =
            columns.iter().zip(&scales).map(|(other, of_other)| dot(column, other) / scale / of_other);
        normal.chain([dot(column, sums) / scale]).collect()
    };
    let mut normal: Vec<Vec<f64>> = columns.iter().zip(&scales).map(line).collect();
    for at in 0..size {
        let pivot =
            (at..size).max_by(|one, other| normal[*one][at].abs().total_cmp(&normal[*other][at].abs()))?;
        normal.swap(at, pivot);
        if normal[at][at].abs() < SINGULAR {
            return None;
        }
        let pivot = normal[at].clone();
        for line in normal.iter_mut().enumerate().filter(|(nth, _)| *nth != at).map(|(_, line)| line) {
            let factor = line[at] / pivot[at];
            line.iter_mut().zip(&pivot).for_each(|(cell, of_pivot)| *cell -= factor * of_pivot);
        }
    }
    let mut unknowns = [0.0; N];
    for (nth, at) in of_set.iter().enumerate() {
        unknowns[*at] = normal[nth][size] / normal[nth][nth] / scales[nth];
    }
    Some(unknowns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn equation<const N: usize>(coefficients: [f64; N], sum: f64, weight: f64) -> Equation<N> {
        Equation { coefficients, sum, weight }
    }

    #[test]
    fn the_lighter_of_two_contradictions_is_missed() {
        let found = non_negative(&[equation([1.0], 10.0, 100.0), equation([3.0], 15.0, 1.0)]).0;
        assert!((found[0] - 10.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn an_unknown_that_would_be_negative_is_zero() {
        let found = non_negative(&[equation([1.0, 1.0], 5.0, 1.0), equation([1.0, 0.0], 8.0, 100.0)]).0;
        assert!((found[0] - 8.0).abs() < 0.01 && found[1] == 0.0, "{found:?}");
    }

    #[test]
    fn what_nothing_determines_stays_zero() {
        assert_eq!(non_negative(&[equation([2.0, 0.0, 2.0], 8.0, 1.0)]).0, [4.0, 0.0, 0.0]);
        assert_eq!(non_negative::<2>(&[]).0, [0.0; 2]);
    }

    proptest! {
        #[test]
        fn no_step_aside_is_better(
            cells in prop::collection::vec(prop::array::uniform3(-1.0..5.0_f64), 4),
            sums in prop::collection::vec(1.0..1000.0_f64, 4),
            unknown in 0..3_usize, step in -0.1..0.1_f64,
        ) {
            let equations: Vec<Equation<3>> =
                cells.into_iter().zip(sums).map(|(cells, sum)| equation(cells, sum, 1.0)).collect();
            let squares = |unknowns: &[f64; 3]| -> f64 {
                let residual = |one: &Equation<3>| dot(&one.coefficients, unknowns) / one.sum - 1.0;
                equations.iter().map(|equation| residual(equation).powi(2)).sum()
            };
            let found = non_negative(&equations).0;
            let mut aside = found;
            aside[unknown] = (aside[unknown] * (1.0 + step) + step).max(0.0);
            prop_assert!(found.iter().all(|value| *value >= 0.0));
            prop_assert!(squares(&aside) >= squares(&found) - 1e-6, "{found:?} {aside:?}");
        }
    }
}
