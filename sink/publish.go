package sink

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tempPrefix starts the name of a file under way. The leading dot and the
// missing .parquet suffix keep it out of every reader's glob.
const tempPrefix = ".tmp-"

// publish lets write fill a temporary file beside path and renames it to path
// when all of it is on disk. The rename is durable when publish returns nil; on
// an error before it, no temporary file is left and path is as it was.
func publish(path string, write func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	file, err := os.CreateTemp(dir, tempPrefix+strings.TrimSuffix(name, filepath.Ext(name))+"-*")
	if err != nil {
		return fmt.Errorf("creating a temporary file: %w", err)
	}
	if err := fill(file, write); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return errors.Join(fmt.Errorf("putting the file into place: %w", err), os.Remove(file.Name()))
	}
	return syncDir(dir)
}

// fill writes file, makes it durable and closes it, whatever happens.
func fill(file *os.File, write func(io.Writer) error) error {
	if err := write(file); err != nil {
		return errors.Join(err, file.Close())
	}
	// CreateTemp makes files for their owner alone; analysts are others.
	if err := errors.Join(file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("finishing the temporary file: %w", err)
	}
	return nil
}

// makeDirs makes the directories from root down to leaf, each durable.
func makeDirs(root, leaf string) error {
	if err := os.MkdirAll(leaf, 0o755); err != nil {
		return err
	}
	for dir := leaf; dir != root && dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// syncDir makes the names within dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("opening the directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("syncing the directory: %w", err)
	}
	return nil
}

// CleanTemp removes the temporary files that killed runs left under dir. Only
// the holder of the output directory's lock may call it.
func CleanTemp(dir string) error {
	for _, root := range []string{filepath.Join(dir, "data"), dir} {
		if err := cleanTemp(root, root != dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing old temporary files: %w", err)
		}
	}
	return nil
}

// cleanTemp removes the temporary files in root and, if deep, below it.
func cleanTemp(root string, deep bool) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && !deep:
			return fs.SkipDir
		case entry.Type().IsRegular() && strings.HasPrefix(entry.Name(), tempPrefix):
			return os.Remove(path)
		}
		return nil
	})
}
