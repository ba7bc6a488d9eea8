package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopper turns signals into the end of a crawl: the first closes asked, so
// that what is open is finished; the second ends the process, which is as
// resumable as a crash.
type stopper struct {
	asked   chan struct{}
	askedAt time.Time // set before asked is closed
	signals chan os.Signal
	done    chan struct{}
}

// newStopper listens for Ctrl-C and SIGTERM until it is released.
func newStopper(errOut io.Writer) *stopper {
	s := &stopper{asked: make(chan struct{}), signals: make(chan os.Signal, 2), done: make(chan struct{})}
	signal.Notify(s.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(s.done)
		if _, ok := <-s.signals; !ok {
			return
		}
		fmt.Fprintln(errOut, "agentcensus: finishing the open sites; once more stops at once")
		s.askedAt = time.Now()
		close(s.asked)
		if _, ok := <-s.signals; ok {
			os.Exit(exitResumable)
		}
	}()
	return s
}

// wasAsked says whether a signal came, and when.
func (s *stopper) wasAsked() (at time.Time, asked bool) {
	if !closed(s.asked) {
		return time.Time{}, false
	}
	return s.askedAt, true
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// release ends the listening.
func (s *stopper) release() {
	signal.Stop(s.signals)
	close(s.signals)
	<-s.done
}
