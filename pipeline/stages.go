package pipeline

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/url"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/robots"
)

// line is one run's stages and what joins them.
type line struct {
	Config
	group *errgroup.Group
	// open is how many sites may be open at once: begun and not settled.
	open, lookups int
	// places has one place for each open site.
	places *semaphore.Weighted
	// reading has one place for each large robots.txt that is read at once.
	reading *semaphore.Weighted
	// decided takes the visits whose fate is settled, from any stage.
	decided chan *visit
	// senders counts the stages that may still send to decided.
	senders sync.WaitGroup

	// A local fault closes halt once, which stops the intake like Stop does.
	halt      chan struct{}
	faultOnce sync.Once
	faultErr  error
}

// admit walks the list. A name that cannot be crawled, one whose site was
// seen before or one that has opted out is decided here; every other becomes
// a visit.
func (l *line) admit(ctx context.Context) <-chan *visit {
	out := make(chan *visit)
	l.sender(func() error {
		defer close(out)
		// Seen sites are kept as 64-bit hashes: a million cost megabytes (P3).
		var seen hashes
		seed := maphash.MakeSeed()
		for site, err := range l.Sites {
			if err != nil {
				return fmt.Errorf("read the list: %w", err)
			}
			if l.stopped() {
				return nil
			}
			v := &visit{site: site, result: Result{Site: site}}
			if site.Invalid != "" {
				v.decide(OutcomeInvalidName, site.Invalid)
			} else if seen.add(maphash.String(seed, fetch.Site(site.Domain))) {
				v.decide(OutcomeDuplicate, "")
			}
			if l.Skip != nil && l.Skip(site.Rank) {
				continue
			}
			if !v.decided && l.optedOut(site.Domain) {
				v.decide(OutcomeOptedOut, "")
			}
			if !l.hand(ctx, v, out) {
				return ctx.Err()
			}
		}
		return nil
	})
	return out
}

// stage runs one step on every visit of in, by so many workers, and hands
// each on: to the next stage, or to settle when the step decided its fate. A
// step's error is a local fault; the visit is dropped and stays without a
// result.
func (l *line) stage(ctx context.Context, workers int, in <-chan *visit, step func(context.Context, *visit) error) <-chan *visit {
	out := make(chan *visit)
	var working sync.WaitGroup
	working.Add(workers)
	for range workers {
		l.sender(func() error {
			defer working.Done()
			for v := range in {
				if err := step(ctx, v); err != nil {
					l.drop(v)
					l.fail(err)
					continue
				}
				if !l.hand(ctx, v, out) {
					return ctx.Err()
				}
			}
			return nil
		})
	}
	l.group.Go(func() error {
		working.Wait()
		close(out)
		return nil
	})
	return out
}

// resolve looks the site's name up, before it takes a slot.
func (l *line) resolve(ctx context.Context, v *visit) error {
	// The visit may have waited for this step since it was admitted.
	if l.optedOut(v.site.Domain) {
		v.decide(OutcomeOptedOut, "")
		return nil
	}
	v.exchange = l.Open()
	v.policies = make(map[string]*robots.Policy)
	v.result.Fetches = make([]FetchResult, 0, 3) // one for each path
	err := v.exchange.Resolve(ctx, v.site.Domain)
	if err == nil {
		return nil
	}
	var e *fetch.Error
	if !errors.As(err, &e) || local(e) {
		return fmt.Errorf("look up a name: %w", err)
	}
	v.decide(Outcome(e.Kind), e.Reason)
	return nil
}

// begin makes the intent to ask sites durable before their first request
// (P15), as many together as have arrived, and lets no more be open than
// there are places for.
func (l *line) begin(ctx context.Context, in <-chan *visit) <-chan *visit {
	out := make(chan *visit, l.open)
	l.group.Go(func() error {
		defer close(out)
		for v := range in {
			if err := l.places.Acquire(ctx, 1); err != nil {
				return err
			}
			batch := l.gather([]*visit{v}, in)
			if l.stopped() {
				// Nothing was asked of these: they are for the next run.
				for _, v := range batch {
					v.close()
				}
				l.places.Release(int64(len(batch)))
				continue
			}
			sites := make([]Site, len(batch))
			for i, v := range batch {
				sites[i], v.result.begun = v.site, true
			}
			if err := l.Sink.Begin(ctx, sites); err != nil {
				return fmt.Errorf("record the intent to ask %d sites: %w", len(sites), err)
			}
			l.Progress.open.Add(int64(len(batch)))
			for _, v := range batch {
				out <- v // never blocks: out has room for every open site
			}
		}
		return nil
	})
	return out
}

// gather adds the visits that are waiting, as long as there are places.
func (l *line) gather(batch []*visit, in <-chan *visit) []*visit {
	for l.places.TryAcquire(1) {
		select {
		case v, ok := <-in:
			if ok {
				batch = append(batch, v)
				continue
			}
		default:
		}
		l.places.Release(1)
		break
	}
	return batch
}

// robots asks the origin's robots.txt, before anything else of it (P1).
func (l *line) robots(ctx context.Context, v *visit) error {
	if _, err := l.robotsOf(ctx, v, v.site.Domain); err != nil {
		return err
	}
	v.decideIfClosed()
	return nil
}

// card asks agent-card.json.
func (l *line) card(ctx context.Context, v *visit) error {
	if err := l.askCard(ctx, v, CardPath); err != nil {
		return err
	}
	if !v.decideIfClosed() && !asksLegacy(v.last()) {
		v.settleByFetches()
	}
	return nil
}

// legacyCard asks agent.json of a site that gave no card yet.
func (l *line) legacyCard(ctx context.Context, v *visit) error {
	if err := l.askCard(ctx, v, LegacyCardPath); err != nil {
		return err
	}
	if !v.decideIfClosed() {
		v.settleByFetches()
	}
	return nil
}

// settle passes every result to the sink and gives the site's place back.
func (l *line) settle(ctx context.Context, last <-chan *visit) {
	l.group.Go(func() error { // the last stage decides every visit
		for range last {
			return fmt.Errorf("a visit left the last stage undecided")
		}
		return nil
	})
	l.group.Go(func() error {
		l.senders.Wait()
		close(l.decided)
		return nil
	})
	l.group.Go(func() error {
		for v := range l.decided {
			if err := l.Sink.Settle(ctx, v.result); err != nil {
				return fmt.Errorf("keep a result: %w", err)
			}
			l.Progress.settle(v.result)
			l.drop(v)
		}
		return nil
	})
}

// hand passes a visit on and says whether somebody took it before ctx ended.
// A site is dropped whole as soon as its fate is decided.
func (l *line) hand(ctx context.Context, v *visit, next chan<- *visit) bool {
	to := next
	if v.decided {
		v.close()
		to = l.decided
	}
	select {
	case to <- v: // mostly: the next stage has a worker that waits
		return true
	default:
	}
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		v.close()
		return false
	}
}

// drop lets go of a visit and of the place it held among the open sites.
func (l *line) drop(v *visit) {
	v.close()
	if v.result.begun {
		l.Progress.open.Add(-1)
		l.places.Release(1)
	}
}

// sender starts a goroutine that may send to decided.
func (l *line) sender(f func() error) {
	l.senders.Add(1)
	l.group.Go(func() error {
		defer l.senders.Done()
		return f()
	})
}

func (l *line) optedOut(host string) bool { return l.OptOut != nil && l.OptOut.Covers(host) }

// still is the last question before a request is sent: whether its host has
// opted out while it waited for a slot (P11).
func (l *line) still(u *url.URL) error {
	if l.optedOut(u.Hostname()) {
		return errOptedOut
	}
	return nil
}

func (l *line) answered(a fetch.Answer) {
	l.Progress.requests.Add(int64(a.Requests))
	if l.Answered != nil {
		l.Answered(a)
	}
}

// fail notes the first local fault and closes the intake.
func (l *line) fail(err error) {
	l.faultOnce.Do(func() {
		l.faultErr = err
		close(l.halt)
	})
}

// stopped says that no further site is to be admitted.
func (l *line) stopped() bool {
	select {
	case <-l.halt:
		return true
	case <-l.Stop:
		return true
	default:
		return false
	}
}
