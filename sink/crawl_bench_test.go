package sink

import "testing"

// BenchmarkSettle is what keeping one site costs: its record, its part of the
// groups' commits, one card in 200.
func BenchmarkSettle(b *testing.B) {
	o := crawlOptions(b.TempDir(), 1<<26)
	c, err := OpenCrawl(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	rank := int64(0)
	for b.Loop() {
		rank++
		r := withoutCard(rank)
		if rank%200 == 0 {
			r = published(rank, "site.example")
		}
		if err := c.Settle(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
}
