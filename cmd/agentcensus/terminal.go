package main

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// isTerminal says whether somebody looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// messages takes what a crawl has to say while a live line may be drawn, which
// would wipe out what is written beside it: that goes above the line.
type messages struct {
	out io.Writer

	mu    sync.Mutex
	above io.Writer // nil while there is no live line
}

func (m *messages) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.above != nil {
		// What the terminal echoed of Ctrl-C is wiped out too.
		if _, err := m.above.Write(append([]byte("\r\x1b[K"), b...)); err == nil {
			return len(b), nil
		}
	}
	return m.out.Write(b)
}

// live says where to write above a live line, nil when it has ended.
func (m *messages) live(above io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.above = above
}
