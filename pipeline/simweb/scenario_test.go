package simweb

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestScenarioErrors(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
	}{
		{"unknown key", "sites:\n  - name: a.example\n    colour: red\n", "[3:5]"},
		{"unknown key of an answer", "sites:\n  - name: a.example\n    card: {do: html, sing: loud}\n", "[3:"},
		{"unknown behaviour", "sites:\n  - name: a.example\n    card: {do: dance}\n", `site a.example: no behaviour "dance"`},
		{"unknown dns", "sites:\n  - name: a.example\n    dns: carrier pigeon\n", `no dns behaviour`},
		{"unknown link", "sites:\n  - name: a.example\n    link: string\n", `no link behaviour`},
		{"unknown tls", "sites:\n  - name: a.example\n    www: {tls: rot13}\n", `no tls behaviour`},
		{"unknown move", "sites:\n  - name: a.example\n    move: away\n", `no move`},
		{"unknown outcome", "sites:\n  - name: a.example\n    expect: {outcome: lovely}\n", `no outcome`},
		{"no name", "sites:\n  - note: nobody\n", `site 1 has no name`},
		{"name twice", "sites:\n  - name: a.example\n  - name: www.a.example\n", `twice`},
		{"no expectation", "sites:\n  - name: a.example\n    card: {status: 200}\n", `need an expect`},
		{"behaviour with a body", "sites:\n  - name: a.example\n    card: {do: html, body: x}\n", `takes no status`},
		{"status", "sites:\n  - name: a.example\n    card: {status: 20}\n    expect: {outcome: card}\n", `status 20`},
		{"header", "sites:\n  - name: a.example\n    card: {status: 200, headers: [oops]}\n    expect: {outcome: card}\n", `no header line`},
		{"behaviour with rules", "sites:\n  - name: a.example\n    card: {do: html, denies: [/a]}\n", `stands beside it`},
		{"no path", "sites:\n  - name: a.example\n    robots: {status: 200, denies: [a]}\n    expect: {outcome: card}\n", `denies no path`},
		{"too large", "sites:\n  - name: a.example\n    card: {status: 200, body: abcd, repeat: 100000000}\n    expect: {outcome: card}\n", `64 MB`},
		{"entry without a name", "list: [a.example, \"\"]\n", `has no name`},
		{"too many in flight", "in_flight: 61\n", `in_flight 61`},
		{"death before the start", "deaths: [{after: -1}]\n", `after -1`},
		{"asked of nobody", "asked: {a.example: []}\n", `no site`},
		{"no YAML", "sites: [", ""},
		{"a tag without a value", "only: yes\nsites: !0 ", "cannot be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadScenario(strings.NewReader(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

// A scenario says how it is to be crawled.
func TestScenarioOfACrawl(t *testing.T) {
	s, err := ReadScenario(strings.NewReader(`
list: [www.a.example, a.example]
opted_out: [b.example]
in_flight: 3
deaths: [{after: 7}, {after: 0, signal: true}]
dies_writing: true
asked: {a.example: [www.a.example/robots.txt]}
sites: [{name: a.example}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{
		List: []string{"www.a.example", "a.example"}, OptedOut: []string{"b.example"}, InFlight: 3,
		Deaths: []ScenarioDeath{{After: 7}, {Signal: true}}, DiesWriting: true,
		Asked: map[string][]string{"a.example": {"www.a.example/robots.txt"}}, Sites: []ScenarioSite{{Name: "a.example"}},
	}
	if d := cmp.Diff(want, s, cmpopts.IgnoreUnexported(Scenario{})); d != "" {
		t.Errorf("-want +read:\n%s", d)
	}
}

// Where the answers of a scenario are all named behaviours, what it expects is
// what their effects add up to.
func TestScenariosExpectTheirFates(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("scenario files %v, %v", files, err)
	}
	for _, file := range files {
		s, err := LoadScenario(file)
		if err != nil {
			t.Fatal(err)
		}
		w := start(t, Config{Scenario: s})
		for i := range s.Sites {
			site := &s.Sites[i]
			p := w.plan(site.Name, 0)
			if !p.composes() {
				// A crawl that is to be made again says what was asked instead.
				if site.Expect.Fetches == nil && s.Asked[site.Name] == nil {
					t.Errorf("%s: %s states no fetches, and nobody else can", file, site.Name)
				}
				continue
			}
			want, got := w.Fate(1, site.Name), p.fate(site.Name)
			if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Fate{}, "Card")); d != "" {
				t.Errorf("%s: %s (-expected +composed):\n%s", file, site.Name, d)
			}
		}
	}
}

// Where a scenario states no fetches, they are known all the same.
func TestFetchesAreComposed(t *testing.T) {
	w := oneSite(t, ScenarioSite{
		Link: "slow", TLS: "late", Robots: &Play{Do: "late_body"},
		Expect: &ScenarioExpected{Outcome: "timeout", Reason: "headers"},
	})
	want := []FetchFate{{Path: RobotsPath, Outcome: "timeout", Reason: "headers", Requests: 1}}
	if d := cmp.Diff(want, w.Fate(1, "site.example").Fetches); d != "" {
		t.Errorf("fetches (-want +got):\n%s", d)
	}
	w = oneSite(t, ScenarioSite{Card: &Play{Status: 404}, Expect: &ScenarioExpected{Outcome: "not_found"}})
	if f := w.Fate(1, "site.example").Fetches; f != nil {
		t.Errorf("fetches %v of an answer whose meaning nobody knows", f)
	}
}

func TestOnlyScenarioNamesExist(t *testing.T) {
	w := oneSite(t, ScenarioSite{})
	if f := w.Fate(1, "other.example"); f.Outcome != "dns_not_found" {
		t.Errorf("another name is %s", f.Outcome)
	}
	if f := w.Fate(1, "www.site.example"); f.Outcome != "not_found" {
		t.Errorf("the www form is %s", f.Outcome)
	}
}

// A written answer is sent as written, with the host filled in, and the www
// host may do otherwise.
func TestWrittenAnswers(t *testing.T) {
	s, err := LoadScenario("testdata/sites.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, Config{Scenario: s})
	c := browser(t, w)
	if status, _, err := get(t, c, "https://www-rules.example"+RobotsPath); err != nil || status != 404 {
		t.Errorf("apex: status %d, %v", status, err)
	}
	if status, body, err := get(t, c, "https://www.www-rules.example"+RobotsPath); err != nil || status != 200 || !strings.Contains(string(body), "Disallow") {
		t.Errorf("www: status %d, %q, %v", status, body, err)
	}
	if status, _, err := get(t, c, "https://www-rules.example"+CardPath); err != nil || status != 301 {
		t.Errorf("redirect: status %d, %v", status, err)
	}
	log := map[string]Entry{} // by URL
	for _, e := range requests(w.Log()) {
		log[e.Origin+e.Path] = e
	}
	if got := log["https://www-rules.example"+CardPath].Location; got != "https://www.www-rules.example"+CardPath {
		t.Errorf("Location %q", got)
	}
	if got := log["https://www.www-rules.example"+RobotsPath].Denies; !slices.Equal(got, []string{CardPath, LegacyPath}) {
		t.Errorf("the log says that %v is disallowed", got)
	}
}

// README.md names every behaviour.
func TestReadmeNamesEveryBehaviour(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Collect(maps.Keys(newCatalogue()))
	names = slices.AppendSeq(names, maps.Keys(nameServices))
	names = slices.AppendSeq(names, maps.Keys(handshakes))
	names = slices.AppendSeq(names, maps.Keys(links))
	for _, n := range slices.Sorted(slices.Values(names)) {
		if !strings.Contains(string(text), "`"+n+"`") {
			t.Errorf("README.md does not name %s", n)
		}
	}
}

func FuzzReadScenario(f *testing.F) {
	f.Add("sites:\n  - name: a.example\n    card: {do: html}\n")
	f.Add("only: yes\nsites: []\n")
	f.Add("only: yes\nsites: !0 ")
	f.Add("sites:\n  - {name: b.example, dns: nxdomain, www: {tls: expired}, expect: {outcome: card}}\n")
	f.Add("sites:\n  - name: c.example\n    paths: {/x: {status: 200, headers: [\"A: b\"], repeat: 3}}\n    expect: {outcome: card}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadScenario(strings.NewReader(text))
		if err == nil && len(s.Names()) != len(s.byName) {
			t.Errorf("%d sites, %d names", len(s.Sites), len(s.byName))
		}
	})
}
