package main

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"agentcensus/sink"
)

// serving runs simweb until the test ends, and returns what it announced and
// the list of names it wrote.
func serving(t *testing.T, args ...string) (flags []string, names string) {
	t.Helper()
	dir := t.TempDir()
	names = filepath.Join(dir, "names.csv")
	ctx, stop := context.WithCancel(context.Background())
	announced, out := io.Pipe()
	ended := make(chan int)
	go func() {
		args := append([]string{"simweb", "--json", "--profile", "plain", "--ca-out", filepath.Join(dir, "ca.pem"), "--names", "60", "--names-out", names}, args...)
		ended <- run(ctx, args, streams{in: strings.NewReader(""), out: out, err: io.Discard})
	}()
	t.Cleanup(func() {
		stop()
		if status := <-ended; status != exitComplete {
			t.Errorf("simweb: exit status %d", status)
		}
	})
	var at struct {
		Resolvers []string `json:"resolvers"`
		ConnectTo string   `json:"connect_to"`
		CAFile    string   `json:"ca_file"`
	}
	if err := json.NewDecoder(announced).Decode(&at); err != nil {
		t.Fatal(err)
	}
	flags = []string{"--connect-to", at.ConnectTo, "--ca-file", at.CAFile}
	for _, r := range at.Resolvers {
		flags = append(flags, "--resolver", r)
	}
	return flags, names
}

// A client elsewhere reaches the simulated web by the flags it prints, and a
// crawl that cannot leave loopback needs no configuration.
func TestSimwebIsReachedByWhatItPrints(t *testing.T) {
	for name, test := range map[string]struct{ served, crawled []string }{
		"one address":        {nil, nil},
		"loopback addresses": {[]string{"--loopback"}, []string{"--allow-address", "127.0.0.0/8"}},
	} {
		t.Run(name, func(t *testing.T) {
			flags, names := serving(t, test.served...)
			out := filepath.Join(t.TempDir(), "out")
			args := append(append([]string{"crawl", "--list", names, "--out", out}, flags...), test.crawled...)
			if status, _, errOut := command(t, args...); status != exitComplete {
				t.Fatalf("exit status %d: %s", status, errOut)
			}
			crawl := rows[sink.CrawlRow](t, out)[0]
			if crawl.Sites != 60 || crawl.Requests < 60 || !crawl.Simulated {
				t.Errorf("%d sites by %d requests, simulated %v", crawl.Sites, crawl.Requests, crawl.Simulated)
			}
		})
	}
}

// Whatever could lead out needs a name, a page, a contact and a key.
func TestOnlyLoopbackIsPrivate(t *testing.T) {
	dns := []string{"127.0.0.1:53", "[::1]:53"}
	for name, test := range map[string]struct {
		aids      aids
		resolvers []string
		want      bool
	}{
		"all on loopback":          {aids{connectTo: "127.0.0.1:8443"}, dns, true},
		"by name":                  {aids{connectTo: "localhost:8443"}, dns, true},
		"connects elsewhere":       {aids{connectTo: "192.0.2.1:443"}, dns, false},
		"the system's resolvers":   {aids{connectTo: "127.0.0.1:8443"}, nil, false},
		"a resolver elsewhere":     {aids{connectTo: "127.0.0.1:8443"}, []string{"127.0.0.1:53", "192.0.2.1:53"}, false},
		"no diversion":             {aids{allow: []string{"127.0.0.0/8"}}, dns, false},
		"port alone, loopback":     {aids{connectTo: ":8443", allow: []string{"127.0.0.0/8", "::1/128"}}, dns, true},
		"port alone, own network":  {aids{connectTo: ":8443", allow: []string{"127.0.0.0/8", "10.0.0.0/8"}}, dns, false},
		"port alone, all of IPv4":  {aids{connectTo: ":8443", allow: []string{"127.0.0.0/1"}}, dns, false},
		"port alone, nobody there": {aids{connectTo: ":8443"}, dns, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.aids.private(test.resolvers); got != test.want {
				t.Errorf("private: %v", got)
			}
		})
	}
}

func TestSimwebRefusesWhatItCannotServe(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--profile", "loud"}, `no profile "loud"`},
		{[]string{"--dead", "3"}, "between 0 and 1"},
		{[]string{"--names-out", "names.csv"}, "--names"},
		{[]string{"--names", "5"}, "--names-out"},
		{[]string{"--names", "-5", "--names-out", "names.csv"}, "--names"},
		{[]string{"--latency", "-1s"}, "--latency"},
		{[]string{"--ca-out", "missing/ca.pem"}, "--ca-out"},
		{[]string{"--log-out", "missing/log"}, "--log-out"},
		{[]string{"--scenario", "missing.yaml"}, "missing.yaml"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			t.Chdir(t.TempDir())
			status, _, errOut := command(t, append([]string{"simweb"}, test.args...)...)
			if status != exitUsage || !strings.Contains(errOut, test.want) {
				t.Errorf("exit status %d: %s", status, errOut)
			}
		})
	}
}
