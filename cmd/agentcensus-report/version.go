package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.out, "agentcensus-report %s %s %s/%s\n", softwareVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// softwareVersion is the version this program was built from: the module's
// where it has one, else "devel"; and the revision, where the build knows it.
func softwareVersion() string {
	version, revision := "devel", ""
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		version = v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			revision = setting.Value[:min(len(setting.Value), 12)]
		}
	}
	if revision == "" {
		return version
	}
	return fmt.Sprintf("%s (%s)", version, revision)
}
