package pipeline

import (
	"testing"

	"pgregory.net/rapid"
)

// The set answers as a Go map does.
func TestHashesIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set hashes
		model := map[uint64]bool{}
		// Few values, so that they come again; some share their first bits.
		value := rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Uint64Range(1<<52, 1<<52+20), rapid.Uint64())
		for range rapid.IntRange(0, 200).Draw(t, "n") {
			h := value.Draw(t, "hash")
			if again := set.add(h); again != model[h] {
				t.Fatalf("add(%d) = %t, want %t", h, again, model[h])
			}
			model[h] = true
		}
	})
}
