package pipeline

import (
	"sync"
	"sync/atomic"
)

// Progress counts what a crawl has done so far. Its zero value is ready; it
// is safe for concurrent use.
type Progress struct {
	requests, open atomic.Int64

	mu       sync.Mutex
	outcomes map[Outcome]int64
	settled  int64
}

// Snapshot is a moment of a crawl: totals, no site.
type Snapshot struct {
	// Settled sites of this run; Open ones are begun and not settled.
	Settled, Open int64
	Requests      int64
	Cards         int64
	Outcomes      map[Outcome]int64
}

func (p *Progress) settle(r Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outcomes == nil {
		p.outcomes = make(map[Outcome]int64)
	}
	p.outcomes[r.Outcome]++
	p.settled++
}

// Snapshot copies the counts.
func (p *Progress) Snapshot() Snapshot {
	s := Snapshot{Open: p.open.Load(), Requests: p.requests.Load(), Outcomes: make(map[Outcome]int64)}
	p.mu.Lock()
	defer p.mu.Unlock()
	for o, n := range p.outcomes {
		s.Outcomes[o] = n
	}
	s.Settled, s.Cards = p.settled, p.outcomes[OutcomeCard]
	return s
}
