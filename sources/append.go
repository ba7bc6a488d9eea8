package sources

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agentcensus/sink/wholefile"
)

// Append adds a domain to an opt-out or suppression file, made if missing. The
// domain is written as a line of the file would be, = and *. included; a public
// suffix without them is an error. The file is replaced whole, durably and with
// everything that was in it, or stays as it was. A domain that has an
// entry as wide already changes nothing. There must be no other writer meanwhile.
func Append(path, domain string) error {
	name, below, err := parseRule(domain)
	if err != nil {
		return fmt.Errorf("add to %s: %w", path, err)
	}
	// A link stays a link: what it points to is replaced.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("add to %s: %w", path, err)
	}
	perm := os.FileMode(0o644)
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("add to %s: %w", path, err)
	default:
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("add to %s: %w", path, err)
		}
		perm = info.Mode().Perm()
	}
	if bytes.IndexByte(old, 0) >= 0 {
		return &ListError{File: path, Msg: "holds NUL bytes; make it a text file in UTF-8 before anything is added"}
	}
	// Lines at fault stay as they are: they are for their author to mend.
	found, _ := parseRules(newLineReader(path, bytes.NewReader(old)))
	if has, ok := found[name]; ok && (has || !below) {
		return nil
	}
	line := name
	switch {
	case !below:
		line = "=" + name
	case isSuffix(name):
		line = "*." + name
	}
	return wholefile.Write(path, perm, func(f *os.File) error {
		content := old
		if len(content) > 0 && content[len(content)-1] != '\n' {
			content = append(content, '\n')
		}
		_, err := f.Write(append(content, line+"\n"...))
		return err
	})
}
