package sink

import "math"

// RankRange returns the first and last rank of the range that holds rank.
// Ranges end at 100, 500, 1,000, 5,000, 10,000 and on by the same steps; the
// last one ends at the largest int64. A rank below 1 has the range 0, 0.
func RankRange(rank int64) (from, to int64) {
	if rank < 1 {
		return 0, 0
	}
	from, to = 1, 100
	for factor := int64(5); rank > to; factor = 10 / factor {
		from = to + 1
		if to > math.MaxInt64/factor {
			return from, math.MaxInt64
		}
		to *= factor
	}
	return from, to
}
