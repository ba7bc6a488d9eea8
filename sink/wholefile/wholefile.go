// Package wholefile puts files into place whole or not at all, so that a
// reader, or a process that goes on after a crash, never meets half of one.
//
// A file under way has a name of its own beside the one it is to have; see
// [IsTemp]. What a killed process left under such a name is for the owner of
// the directory to remove.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tempPrefix starts the name of a file under way. The leading dot keeps it out
// of the globs of readers.
const tempPrefix = ".tmp-"

// IsTemp says whether a file of this name (without its directory) is one under
// way.
func IsTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }

// Write lets fill write a temporary file beside path and renames it to path
// when all of it is on the disk. The rename is durable when Write returns nil.
// On an error before the rename path is as it was, and no temporary file is
// left. The error wraps fill's.
func Write(path string, perm fs.FileMode, fill func(*os.File) error) error {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	// Without the extension: a glob for *.parquet shall not match, dot or not.
	file, err := os.CreateTemp(dir, tempPrefix+strings.TrimSuffix(name, filepath.Ext(name))+"-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err = fill(file); err == nil {
		// CreateTemp makes files for their owner alone.
		err = errors.Join(file.Chmod(perm), file.Sync())
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(file.Name())))
	}
	return SyncDir(dir)
}

// SyncDir makes the names within dir durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing a directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("syncing the directory %s: %w", dir, err)
	}
	return nil
}
