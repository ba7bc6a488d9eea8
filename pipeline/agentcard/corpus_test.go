package agentcard

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCorpus compares what is read from collected files with facts a person
// noted, file by file and column by column.
func TestCorpus(t *testing.T) {
	root := os.Getenv("AGENTCENSUS_CORPUS")
	if root == "" {
		t.Skip("AGENTCENSUS_CORPUS is not set")
	}
	dir := filepath.Join(root, "cards")
	f, err := os.Open(filepath.Join(dir, "INDEX.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[name] = i
	}
	files, err := filepath.Glob(filepath.Join(dir, "[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 || len(files) != len(rows)-1 {
		t.Fatalf("%d files, %d rows", len(files), len(rows)-1)
	}
	for _, row := range rows[1:] {
		t.Run(row[0], func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(dir, row[0]))
			if err != nil {
				t.Fatal(err)
			}
			v, c := Read(body)
			got := indexRow(v, &c)
			want := make(map[string]string)
			for name := range got {
				want[name] = row[column[name]]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-index +read\n%s", diff)
			}
		})
	}
}

// indexRow writes facts as the index does; cards alone have facts there.
func indexRow(v Verdict, c *Card) map[string]string {
	row := map[string]string{"class": string(v.Kind), "rule_or_reason": v.Reason}
	if v.Kind != Is {
		return row
	}
	row["version"], row["version_source"], row["shape"] = c.A2AVersion, string(c.VersionSource), string(c.Shape)
	row["skills"] = strconv.Itoa(c.SkillsCount)
	auth := slices.Clone(c.SchemeTypes)
	slices.SortFunc(auth, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	legacy := slices.Sorted(slices.Values(c.LegacyAuthSchemes))
	for _, s := range legacy {
		auth = append(auth, "legacy:"+s)
	}
	row["auth_types"] = strings.Join(auth, " ")
	row["signed"] = map[bool]string{true: "yes", false: "no"}[c.Signed]
	var algs []string
	for _, s := range c.Signatures {
		algs = append(algs, s.Alg)
	}
	row["sig_algs"] = strings.Join(algs, ",")
	row["name"], row["provider_org"] = c.Name, c.Provider.Organization
	var hosts ordered
	for _, i := range c.Interfaces {
		if i.Host == "" {
			hosts.add("(" + string(i.HostKind) + ")")
		}
		hosts.add(i.Host)
	}
	row["interface_hosts"] = strings.Join(hosts.list, " ")
	row["bindings"] = strings.Join(c.Bindings, " ")
	var on []string
	for _, capability := range []struct {
		name string
		on   *bool
	}{
		{"streaming", c.Capabilities.Streaming},
		{"pushNotifications", c.Capabilities.PushNotifications},
		{"stateTransitionHistory", c.Capabilities.StateTransitionHistory},
		{"extendedAgentCard", c.Capabilities.ExtendedCard},
	} {
		if capability.on != nil && *capability.on {
			on = append(on, capability.name)
		}
	}
	if n := len(c.Extensions); n > 0 {
		on = append(on, "extensions:"+strconv.Itoa(n))
	}
	row["capabilities_true"] = strings.Join(on, " ")
	return row
}
