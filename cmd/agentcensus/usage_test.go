package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentcensus/sink"
)

// Whatever cannot work is refused before anything is written, with what to do.
func TestWrongFlagsWriteNothing(t *testing.T) {
	for name, test := range map[string]struct {
		args string
		want string
	}{
		"out is a file":                {"crawl --simulate 5 --out file", "--out file: this is a file; name a directory"},
		"out is below a file":          {"crawl --simulate 5 --out file/out", "file/out"},
		"recheck's out is a file":      {"recheck --out file", "this is a file"},
		"status' out is a file":        {"status --out file", "this is a file"},
		"forget's out is a file":       {"forget site.example --out file", "this is a file"},
		"no out":                       {"crawl --simulate 5 --out=", "name the output directory"},
		"negative latency":             {"crawl --simulate 5 --latency -1s", "--latency -1s: give a time"},
		"seed of no simulated web":     {"crawl --seed 5", "--seed is of the simulated web: add --simulate"},
		"epoch of no simulated web":    {"recheck --epoch 1", "--epoch is of the simulated web: add --simulate"},
		"resolver of a simulated web":  {"crawl --simulate 5 --resolver 127.0.0.1:53", "--resolver does not go with --simulate"},
		"diverted simulated web":       {"crawl --simulate 5 --connect-to :443", "--connect-to does not go with --simulate"},
		"a list from the internet":     {"crawl --simulate 5 --list tranco", "nothing is sent to the public internet without a name"},
		"profile that is none":         {"crawl --simulate 5 --profile loud", `--profile "loud": write measured, flat or plain`},
		"resolver without port":        {"crawl --resolver dns.example", `"dns.example": write IP:PORT`},
		"resolver by its name":         {"crawl --resolver dns.example:53", `"dns.example:53": write IP:PORT`},
		"resolver with no such port":   {"crawl --resolver 127.0.0.1:99999", "write IP:PORT"},
		"diversion to no such port":    {"crawl --connect-to 127.0.0.1:http", "--connect-to"},
		"metrics on no address":        {"crawl --simulate 5 --metrics nowhere", "--metrics nowhere"},
		"more in flight than promised": {"crawl --simulate 5 --in-flight 61", "between 1 and 60"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("file", nil, 0o644); err != nil {
				t.Fatal(err)
			}
			status, _, errOut := command(t, strings.Fields(test.args)...)
			if status != exitUsage || !strings.Contains(errOut, test.want) {
				t.Errorf("exit status %d: %s", status, errOut)
			}
			if left, err := filepath.Glob("*"); err != nil || len(left) != 1 {
				t.Errorf("there are now %v, %v", left, err)
			}
		})
	}
}

// A configuration that is half filled in is enough for a made-up web, and Tranco's
// list is not downloaded for nobody; the error says what needs no configuration.
func TestSimulationNeedsNoWholeConfiguration(t *testing.T) {
	yaml := filepath.Join(t.TempDir(), "half.yaml")
	writeFile(t, yaml, "bot: {name: SampleBot}\n")
	if status, _, errOut := command(t, "crawl", "--simulate", "5", "--config", yaml, "--out", t.TempDir()); status != exitComplete {
		t.Errorf("exit status %d: %s", status, errOut)
	}
	status, _, errOut := command(t, "crawl", "--simulate", "--list", "tranco", "--config", yaml, "--out", t.TempDir())
	if status != exitUsage || !strings.Contains(errOut, "bot.contact") || !strings.Contains(errOut, "--list FILE") {
		t.Errorf("exit status %d: %s", status, errOut)
	}
}

// Where the metrics cannot be served no crawl is begun; but one that runs
// already, metrics and all, is none of the caller's mistakes.
func TestMetricsAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out := t.TempDir()
	args := []string{"crawl", "--simulate", "5", "--out", out, "--metrics", l.Addr().String()}
	if status, _, errOut := command(t, args...); status != exitUsage || !strings.Contains(errOut, "--metrics "+l.Addr().String()) {
		t.Errorf("exit status %d: %s", status, errOut)
	}
	if kinds, err := sink.UnfinishedKinds(out); err != nil || len(kinds) > 0 {
		t.Errorf("unfinished are %v, %v", kinds, err)
	}
	lock, err := sink.AcquireLock(out, string(sink.Adhoc), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if status, told, errOut := command(t, args...); status != exitComplete || !strings.Contains(told, "nothing to do") {
		t.Errorf("exit status %d: %s%s", status, told, errOut)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}
