package pipeline

import "slices"

// hashes is a set of 64-bit hashes at about 10 bytes each, which grows in
// small steps. A Go map takes 16 bytes and more a place, up to 35 MB for a
// million, and doubles all at once.
type hashes [4096][]uint64

// add puts h into the set and says whether it was there.
func (s *hashes) add(h uint64) (again bool) {
	part := &s[h>>52]
	i, again := slices.BinarySearch(*part, h)
	if !again {
		*part = slices.Insert(*part, i, h)
	}
	return again
}
