package sink

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An answer speaks for the network as it was when it was received: it does not
// free a site that failed after that, though it is settled later.
func TestAnOlderAnswerFreesNobody(t *testing.T) {
	o := crawlOptions(t.TempDir(), 6)
	o.OutageAfter = 3
	c := open(t, o)
	at := func(r Record, seconds int) Record {
		r.At = aTuesday.Add(time.Duration(seconds) * time.Second)
		return r
	}
	settle(t, c, at(silent(1), 10), at(silent(2), 12), at(withoutCard(3), 11))
	if c.Held() != 1 {
		t.Errorf("%d held back, want the one that failed after the answer", c.Held())
	}
	settle(t, c, at(withoutCard(4), 9), at(silent(5), 13))
	if c.Held() != 2 {
		t.Errorf("%d held back, want both that failed after the last answer", c.Held())
	}
	noError(t, c.Outage(t.Context()))
	totals, err := c.Totals()
	noError(t, err)
	if diff := cmp.Diff(map[string]int64{"timeout/connect": 1, "not_found": 2, "interrupted/own_outage": 2}, outcomes(t, totals)); diff != "" {
		t.Error(diff)
	}
}
