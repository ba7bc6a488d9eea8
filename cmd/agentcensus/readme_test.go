package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// readmeBlocks are the README's fenced blocks of shell lines, and whether the
// mark before them says that a test runs them.
func readmeBlocks(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?s)(<!-- run -->\n)?```([a-z]*)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if m[2] == "" || m[2] == "sh" || m[2] == "ini" {
			blocks[m[3]] = blocks[m[3]] || m[1] != ""
		}
	}
	if len(blocks) < 5 {
		t.Fatalf("only %d blocks found in the README", len(blocks))
	}
	return blocks
}

var commandLine = regexp.MustCompile(`(?m)(?:^|&& |\| |ExecStart=/usr/local/bin/)agentcensus ([^#|&>\n]*)`)

// Every command line in the README is one that this program takes.
func TestReadmeNamesRealCommands(t *testing.T) {
	seen := 0
	for block := range readmeBlocks(t) {
		for _, m := range commandLine.FindAllStringSubmatch(block, -1) {
			seen++
			args := joinOptional(strings.Fields(m[1]), "--simulate")
			root := newRoot(streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
			c, rest, err := root.Find(args)
			if err == nil {
				err = flagsOf(c, rest)
			}
			if err != nil || c == root {
				t.Errorf("agentcensus %s: %v", m[1], err)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d command lines found in the README", seen)
	}
}

// flagsOf parses the flags without running the command.
func flagsOf(c *cobra.Command, args []string) error {
	if err := c.ParseFlags(args); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// The README's examples work as they are written.
func TestReadmeExamplesRun(t *testing.T) {
	blocks := readmeBlocks(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("robots.txt", []byte("User-agent: *\nDisallow: /private/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for block, toRun := range blocks {
		if !toRun {
			continue
		}
		for line := range strings.Lines(block) {
			args, ok := strings.CutPrefix(strings.TrimSpace(line), "agentcensus ")
			if !ok {
				t.Errorf("%q is no command of this program", line)
				continue
			}
			ran++
			var errors strings.Builder
			s := streams{in: strings.NewReader(""), out: io.Discard, err: &errors}
			if status := run(t.Context(), strings.Fields(args), s); status != exitComplete {
				t.Errorf("agentcensus %s: exit status %d\n%s", args, status, errors.String())
			}
		}
	}
	if ran == 0 {
		t.Error("no example is marked to be run")
	}
}

// The README's meaning of each column is what the program says.
func TestReadmeHasTheSchema(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "<!-- schema -->\n")
	copied, _, ended := strings.Cut(after, "\n<!-- end of schema -->")
	if !found || !ended {
		t.Fatal("the README has no copy of the schema")
	}
	var out strings.Builder
	if status := run(t.Context(), []string{"schema", "--markdown"}, streams{in: strings.NewReader(""), out: &out, err: io.Discard}); status != exitComplete {
		t.Fatalf("exit status %d", status)
	}
	want := strings.ReplaceAll("\n"+strings.TrimSpace(out.String()), "\n## ", "\n#### ")
	if want != "\n"+copied {
		t.Error("the README's tables differ from 'agentcensus schema --markdown': copy them anew, each heading two levels lower")
	}
}
