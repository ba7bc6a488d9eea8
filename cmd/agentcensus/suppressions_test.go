package main

import (
	"os"
	"path/filepath"
	"testing"

	"agentcensus/sources"
)

// What was forgotten under one configuration stays forgotten under another: the
// list beside the tables counts beside a configured one.
func TestEverySuppressionCounts(t *testing.T) {
	out := t.TempDir()
	configured := filepath.Join(t.TempDir(), "suppressed.txt")
	for path, domain := range map[string]string{configured: "one.example", suppressedPath("", out): "two.example"} {
		if err := sources.Append(path, domain); err != nil {
			t.Fatal(err)
		}
	}
	lists, err := loadSuppressed(configured, out)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"one.example": true, "www.two.example": true, "three.example": false} {
		if got := lists.Covers(host); got != want {
			t.Errorf("Covers(%s) = %t, want %t", host, got, want)
		}
	}
}

func TestStatusOfNoDirectory(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "typo")
	if status := run(t.Context(), []string{"status", "--out", missing}, streams{out: os.Stdout, err: os.Stderr}); status != exitUsage {
		t.Errorf("exit status %d, want %d", status, exitUsage)
	}
}
