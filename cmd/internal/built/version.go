// Package built says from what a program was built, in the same words for every
// program of the repository. It reads what the Go toolchain wrote into it.
package built

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is the version that the program was built from: the module's where it
// has one, else "devel"; and the revision, and whether it was changed, where
// the build knows it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return versionOf(info)
}

// Line is what `program version` prints: the version, Go's, and the platform.
func Line(program string) string {
	return fmt.Sprintf("%s %s %s %s/%s", program, Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func versionOf(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "devel"
	}
	settings := make(map[string]string, len(info.Settings))
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return version
	}
	revision = revision[:min(len(revision), 12)]
	if settings["vcs.modified"] == "true" {
		revision += ", modified"
	}
	return fmt.Sprintf("%s (%s)", version, revision)
}
