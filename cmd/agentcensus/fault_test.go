package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/resolve"
	"agentcensus/sink"
)

func TestFaultsNameNoHost(t *testing.T) {
	dns := &resolve.Error{Kind: resolve.Local, Reason: "too_many_files", Host: "quiet.example", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	tests := map[string]struct {
		err  error
		says []string
	}{
		"DNS": {fmt.Errorf("look up a name: %w", &fetch.Error{Kind: fetch.Local, Reason: "too_many_files", Err: dns}),
			[]string{"too_many_files", syscall.EMFILE.Error()}},
		"dial": {&fetch.Error{Kind: fetch.Local, Reason: "no_route", Err: fmt.Errorf("dial tcp quiet.example:443: %w", syscall.ENETUNREACH)},
			[]string{"no_route", syscall.ENETUNREACH.Error()}},
		"without a cause": {&fetch.Error{Kind: fetch.Local, Reason: "no_roots"}, []string{"no_roots"}},
		"signing":         {&fetch.Error{Kind: fetch.SigningFailed, Err: os.ErrDeadlineExceeded}, []string{"signing", os.ErrDeadlineExceeded.Error()}},
		"of no request":   {fmt.Errorf("keep a result: %w", syscall.ENOSPC), []string{"keep a result", syscall.ENOSPC.Error()}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := unnamed(test.err).Error()
			mustContain(t, got, test.says...)
			if strings.Contains(got, "quiet.example") {
				t.Errorf("named: %s", got)
			}
		})
	}
}

// A crawl that runs out of files stops, and neither its words, nor its log, nor
// the status file name a site (P10).
func TestALocalFaultNamesNoSite(t *testing.T) {
	y := newYears(t)
	f := crawlFlags{runFlags: runFlags{out: y.out}, kind: "monthly", simulated: true, list: y.names}
	r := y.runner(f.runFlags, sink.Monthly, "2026-11-02", 0)
	defer y.close(r)
	var dials atomic.Int64
	r.web.dial = func(ctx context.Context, addr netip.AddrPort, host string) (net.Conn, error) {
		if dials.Add(1) > 50 {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(addr), Err: fmt.Errorf("%s: %w", host, syscall.EMFILE)}
		}
		return y.web.Dial(ctx, addr, host)
	}
	l, err := f.open(t.Context(), r, nil)
	y.must(err)
	err = r.run(t.Context(), l, f.settings(r))
	if exitStatus(err) != exitResumable || !strings.Contains(err.Error(), syscall.EMFILE.Error()) {
		t.Fatalf("%v", err)
	}
	st, readErr := sink.ReadStatus(y.out)
	y.must(readErr)
	for _, said := range []string{err.Error(), y.log.String(), st.Reason} {
		for _, name := range y.web.Names(entriesOfYears) {
			if strings.Contains(said, name) {
				t.Errorf("%s is named: %s", name, said)
			}
		}
	}
}
