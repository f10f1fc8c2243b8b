//! Gives buffers with known lifetimes offsets in one arena.

/// A buffer that lives from step `first` to step `last`, both included.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub bytes: usize,
    pub first: usize,
    pub last: usize,
}

/// Every offset is a multiple of this: whole cache lines, and any vector load.
pub const ALIGNMENT: usize = 256;

/// Offsets and the size of the arena. The largest are placed first, each at the lowest offset where nothing that lives at the
/// same time is (greedy by size; Pisarchyk and Lee, 2020).
pub fn pack(intervals: &[Interval]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..intervals.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(intervals[i].bytes), intervals[i].first, i));
    let mut offsets = vec![0; intervals.len()];
    let mut placed: Vec<usize> = Vec::with_capacity(intervals.len());
    let mut size = 0;
    for i in order {
        let me = intervals[i];
        if me.bytes == 0 {
            continue;
        }
        let mut at = 0;
        // `placed` is sorted by offset.
        for &other in &placed {
            let o = intervals[other];
            if o.first > me.last || o.last < me.first {
                continue;
            }
            if offsets[other] >= at + me.bytes {
                break;
            }
            at = at.max((offsets[other] + o.bytes).next_multiple_of(ALIGNMENT));
        }
        offsets[i] = at;
        size = size.max(at + me.bytes);
        let position = placed.partition_point(|&p| offsets[p] <= at);
        placed.insert(position, i);
    }
    (offsets, size)
}

/// The most bytes that live at one step: no plan can be smaller.
pub fn lower_bound(intervals: &[Interval]) -> usize {
    let mut changes: Vec<(usize, isize)> = Vec::with_capacity(intervals.len() * 2);
    for i in intervals {
        changes.push((i.first, i.bytes as isize));
        changes.push((i.last + 1, -(i.bytes as isize)));
    }
    changes.sort_unstable_by_key(|c| (c.0, c.1));
    let (mut now, mut most) = (0isize, 0isize);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    most as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lives_together_does_not_overlap() {
        let mut random = 1u64;
        let mut next = |n: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % n
        };
        let intervals: Vec<Interval> = (0..300)
            .map(|_| {
                let first = next(200) as usize;
                Interval { bytes: next(5000) as usize, first, last: first + next(20) as usize }
            })
            .collect();
        let (offsets, size) = pack(&intervals);
        for (i, a) in intervals.iter().enumerate() {
            assert!(offsets[i] + a.bytes <= size || a.bytes == 0);
            for (j, b) in intervals.iter().enumerate().skip(i + 1) {
                let together = a.first <= b.last && b.first <= a.last && a.bytes > 0 && b.bytes > 0;
                assert!(!together || offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i]);
            }
        }
        assert!(size >= lower_bound(&intervals));
    }
}
