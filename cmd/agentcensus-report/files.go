package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// writeWhole makes path appear whole or not at all: write fills a temporary
// file beside it, which takes its name when all of it is on disk.
func writeWhole(path string, write func(io.Writer) error) error {
	return replaceWhole(path, func(temporary string) error {
		file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	})
}

// replaceWhole is writeWhole for a writer that wants a name. The temporary file
// exists, empty, when fill is called.
func replaceWhole(path string, fill func(temporary string) error) (err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("cannot write %s: it is a directory", path)
	}
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, ".tmp-"+filepath.Base(path)+"-*")
	if err != nil {
		return cannotWrite(path, err)
	}
	temporary := file.Name()
	named := false
	defer func() {
		if err != nil && !named {
			err = errors.Join(err, os.Remove(temporary))
		}
	}()
	// CreateTemp makes files for their owner alone; readers are others.
	if err := errors.Join(file.Chmod(0o644), file.Close()); err != nil {
		return cannotWrite(path, err)
	}
	if err := fill(temporary); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := errors.Join(syncPath(temporary), os.Rename(temporary, path)); err != nil {
		return cannotWrite(path, err)
	}
	named = true
	return syncPath(dir)
}

// cannotWrite tells a path that the caller has to mend from a fault of the
// machine.
func cannotWrite(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("cannot write %s: there is no directory %s", path, filepath.Dir(path))
	case errors.Is(err, fs.ErrPermission):
		return usagef("cannot write %s: no permission to write in %s", path, filepath.Dir(path))
	}
	return fmt.Errorf("writing %s: %w", path, err)
}

// syncPath makes a file, or the names within a directory, durable.
func syncPath(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening for sync: %w", err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("syncing %s: %w", path, err)
	}
	return nil
}
