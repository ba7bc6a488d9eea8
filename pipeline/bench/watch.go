package bench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"agentcensus/pipeline"
)

// watch looks at a crawl while it goes: every so many sites, every so often,
// or both; and it stops the crawl when its time is over.
type watch struct {
	task     Task
	progress *pipeline.Progress
	sample   func(Sample) error
	begun    time.Time
	stop     chan struct{} // closed when the time is over

	done  chan struct{} // closed by end
	group sync.WaitGroup

	mu    sync.Mutex // one look at a time; guards count and err
	count int64      // of sites settled
	err   error      // the first
}

func newWatch(t Task, p *pipeline.Progress, sample func(Sample) error) *watch {
	return &watch{task: t, progress: p, sample: sample, stop: make(chan struct{}), done: make(chan struct{})}
}

// start begins to watch. What it returns is closed when the crawl is to stop.
func (w *watch) start() (stop <-chan struct{}) {
	w.begun = time.Now()
	if w.task.For > 0 {
		w.group.Go(func() {
			timer := time.NewTimer(w.task.For)
			defer timer.Stop()
			select {
			case <-timer.C:
				close(w.stop)
			case <-w.done:
			}
		})
	}
	if w.task.Sample > 0 {
		w.group.Go(func() {
			tick := time.NewTicker(w.task.Sample)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					w.look(w.progress.Snapshot().Settled)
				case <-w.done:
					return
				}
			}
		})
	}
	return w.stop
}

// settled is told of every result.
func (w *watch) settled() {
	if w.task.SampleSites == 0 {
		return
	}
	w.mu.Lock()
	w.count++
	n := w.count
	w.mu.Unlock()
	if n%int64(w.task.SampleSites) == 0 {
		w.look(n)
	}
}

// look reports the process as it is with so many sites settled.
func (w *watch) look(sites int64) {
	s, err := self()
	if err == nil {
		s.After = time.Since(w.begun)
		s.Sites, s.Requests = sites, w.progress.Snapshot().Requests
		s.State, err = stateSize(w.task.Dir)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		err = w.sample(s)
	}
	w.err = errors.Join(w.err, err)
}

// end stops watching and returns what went wrong with it.
func (w *watch) end() error {
	close(w.done)
	w.group.Wait()
	return w.err
}

// stateSize is the size of the state file under dir, 0 when there is none.
func stateSize(dir string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(dir, ".state", "*.db"))
	if err != nil {
		return 0, err
	}
	var n int64
	for _, f := range files {
		info, err := os.Stat(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		n += info.Size()
	}
	return n, nil
}
