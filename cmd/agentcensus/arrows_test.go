package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Arrows between packages point one way, and the crawler needs no cgo.
func TestArrowsPointOneWay(t *testing.T) {
	for _, c := range []struct {
		pkg  string
		none []string // what must not be among its dependencies
	}{
		{"agentcensus/pipeline", []string{"agentcensus/sink", "agentcensus/sources", "agentcensus/pipeline/simweb"}},
		{"agentcensus/pipeline/fetch", []string{"agentcensus/pipeline/robots", "agentcensus/pipeline/agentcard", "agentcensus/pipeline/challenge", "agentcensus/signing"}},
		{"agentcensus/pipeline/robots", []string{"agentcensus/pipeline/fetch", "agentcensus/pipeline/agentcard"}},
		{"agentcensus/pipeline/agentcard", []string{"agentcensus/pipeline/fetch", "agentcensus/pipeline/robots"}},
		{"agentcensus/sink", []string{"agentcensus/pipeline", "agentcensus/pipeline/fetch", "agentcensus/sources"}},
		{"agentcensus/sources", []string{"agentcensus/pipeline", "agentcensus/sink"}},
		{"agentcensus/sink/wholefile", []string{"agentcensus/pipeline", "agentcensus/sink", "agentcensus/sources"}},
		{"agentcensus/signing", []string{"agentcensus/pipeline", "agentcensus/sink"}},
		{"agentcensus/pipeline/simweb", []string{"agentcensus/pipeline", "agentcensus/pipeline/fetch", "agentcensus/pipeline/robots",
			"agentcensus/pipeline/agentcard", "agentcensus/pipeline/challenge", "agentcensus/pipeline/resolve", "agentcensus/sink", "agentcensus/sources"}},
		{"agentcensus/cmd/agentcensus", []string{"runtime/cgo", "github.com/duckdb/duckdb-go/v2"}},
	} {
		t.Run(c.pkg, func(t *testing.T) {
			cmd := exec.Command("go", "list", "-deps", c.pkg)
			cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			deps := make(map[string]bool)
			for dep := range strings.FieldsSeq(string(out)) {
				deps[dep] = true
			}
			for _, bad := range c.none {
				if deps[bad] {
					t.Errorf("%s depends on %s", c.pkg, bad)
				}
			}
		})
	}
}
