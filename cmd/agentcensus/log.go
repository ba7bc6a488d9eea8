package main

import (
	"io"
	"log/slog"
)

// newLog makes the log: what a crawl has to say beside its tables. At the
// default level it names no site (P10).
func newLog(w io.Writer, asJSON, verbose bool) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if verbose {
		o.Level = slog.LevelDebug
	}
	if asJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
