package main

import (
	"log/slog"

	"agentcensus/sources"
)

// liveOptOut is the opt-out file as it is now: it is looked at before every
// request, so that an entry counts from the next one on (P11).
type liveOptOut struct {
	list *sources.OptOut
	log  *slog.Logger
	// failed counts reloads that met an error.
	failed func()
}

// loadOptOut reads the opt-out file; without one nobody has opted out.
func loadOptOut(path string, log *slog.Logger) (*liveOptOut, error) {
	o := &liveOptOut{log: log, failed: func() {}}
	if path == "" {
		return o, nil
	}
	var err error
	if o.list, err = sources.LoadOptOut(path); err != nil {
		return nil, usagef("opt_out: %w", err)
	}
	return o, nil
}

// Covers says whether host has opted out. When the file cannot be read the
// entries known stay in force.
func (o *liveOptOut) Covers(host string) bool {
	if o.list == nil {
		return false
	}
	added, err := o.list.Poll()
	if err != nil {
		o.failed()
		o.log.Error("the opt-out file has an error; the entries known stay in force and the good new ones count", "err", err)
	}
	if added > 0 {
		o.log.Info("the opt-out file has new entries", "added", added)
	}
	return o.list.Covers(host)
}
