package built

import (
	"runtime/debug"
	"testing"
)

func TestTheVersionIsTheBuilds(t *testing.T) {
	for name, tc := range map[string]struct {
		module   string
		settings []debug.BuildSetting
		want     string
	}{
		"a release":              {"v1.2.0", nil, "v1.2.0"},
		"nothing known":          {"", nil, "devel"},
		"a working copy":         {"(devel)", nil, "devel"},
		"a revision":             {"(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}}, "devel (0123456789ab)"},
		"a short revision":       {"(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: "0123"}}, "devel (0123)"},
		"a revision and changes": {"v1.2.0", []debug.BuildSetting{{Key: "vcs.revision", Value: "0123"}, {Key: "vcs.modified", Value: "true"}}, "v1.2.0 (0123, modified)"},
	} {
		t.Run(name, func(t *testing.T) {
			info := &debug.BuildInfo{Main: debug.Module{Version: tc.module}, Settings: tc.settings}
			if got := versionOf(info); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
