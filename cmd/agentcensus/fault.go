package main

import (
	"errors"
	"fmt"
	"syscall"

	"agentcensus/pipeline/fetch"
)

// unnamed is an error without the host at which it was met: what stops a crawl
// is printed, logged and put into the status file, where no site without a card
// is to be named (P10). What was being done, the kind of the fault and what the
// system says of it stay.
func unnamed(err error) error {
	var f *fetch.Error
	if !errors.As(err, &f) {
		return err
	}
	text := "a request could not be made: " + string(f.Kind)
	if f.Reason != "" {
		text += " (" + f.Reason + ")"
	}
	if f.Reason == "resolver_gone" {
		text += ": no DNS server is there; start it, or name another with --resolver"
	}
	var system syscall.Errno
	switch {
	case errors.As(f, &system):
		return fmt.Errorf("%s: %w", text, system)
	case f.Kind == fetch.SigningFailed && f.Err != nil:
		return fmt.Errorf("%s: %w", text, f.Err) // tells of the key, not of the request
	}
	return errors.New(text)
}
