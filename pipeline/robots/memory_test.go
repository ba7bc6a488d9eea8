package robots_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"agentcensus/pipeline/robots"
)

// TestAPolicyIsSmall: a hundred sites may be open at once, each with the worst file of a legal size.
func TestAPolicyIsSmall(t *testing.T) {
	const group = "User-agent: *\n"
	fill := func(line func(i int) string) string {
		var b strings.Builder
		b.WriteString(group)
		for i := 0; b.Len() < robots.MaxBody; i++ {
			b.WriteString(line(i))
		}
		return b.String()[:robots.MaxBody]
	}
	const kB = 1000
	for name, tt := range map[string]struct {
		body          string
		keeps, passes uint64 // bytes a policy keeps, and bytes allocated to read it, at most
	}{
		"blank lines":      {fill(func(int) string { return "\n" }), 1 * kB, 1200 * kB},
		"comments":         {fill(func(int) string { return "#\n" }), 1 * kB, 1200 * kB},
		"the same rule":    {fill(func(int) string { return "Allow:/a\n" }), 1 * kB, 15000 * kB},
		"another bot's":    {"User-agent: otherbot\n" + fill(func(int) string { return "Allow:/a\n" })[len(group):], 1 * kB, 10000 * kB},
		"different rules":  {fill(func(i int) string { return fmt.Sprintf("Allow:/%x\n", i) }), 1800 * kB, 12000 * kB},
		"the same stars":   {fill(func(int) string { return "Allow:/*a*e*l*l*c*r*j*o*n*z$\n" }), 1 * kB, 8000 * kB},
		"to be normalised": {fill(func(i int) string { return fmt.Sprintf("Allow:/%%%%%x\n", i) }), 2200 * kB, 14000 * kB},
		"one long rule":    {group + "Allow: /" + strings.Repeat("a", robots.MaxBody-len(group)-9) + "\n", 600 * kB, 4000 * kB},
	} {
		t.Run(name, func(t *testing.T) {
			const many = 10
			policies := make([]*robots.Policy, many)
			before := memory()
			for i := range policies {
				policies[i] = robots.Read(robots.Response{Status: http.StatusOK, Body: []byte(tt.body)}, []string{"ExampleBot"}, robots.RFC9309)
			}
			after := memory()
			if kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / many; kept > int64(tt.keeps) {
				t.Errorf("a policy keeps %d bytes, at most %d are allowed", kept, tt.keeps)
			}
			if passed := (after.TotalAlloc - before.TotalAlloc) / many; passed > tt.passes {
				t.Errorf("%d bytes were allocated to read one, at most %d are allowed", passed, tt.passes)
			}
			for _, p := range policies {
				if p.State() != robots.Open {
					t.Errorf("state %v", p.State())
				}
			}
		})
	}
}

func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// TestTheFirstLineIsTold: of rules that say the same the first one is what decided.
func TestTheFirstLineIsTold(t *testing.T) {
	body := "User-agent: *\nDisallow: /a\nAllow: /%61\nDisallow: /%61\nAllow: /a # again\nDisallow: /b\nDisallow: /b\n"
	p := robots.Read(robots.Response{Status: http.StatusOK, Body: []byte(body)}, nil, robots.RFC9309)
	for path, want := range map[string]robots.Decision{
		"/a": {Allowed: true, By: robots.ByTie, Group: "*", Line: 3, Text: "Allow: /%61"},
		"/b": {By: robots.ByRule, Group: "*", Line: 6, Text: "Disallow: /b"},
	} {
		if got := p.Allows(path); got != want {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
}
