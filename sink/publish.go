package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agentcensus/sink/wholefile"
)

// readable is the mode of what is published: analysts are others.
const readable = 0o644

// makeDirs makes the directories from root down to leaf, each durable.
func makeDirs(root, leaf string) error {
	if err := os.MkdirAll(leaf, 0o755); err != nil {
		return err
	}
	return syncDirs(root, leaf)
}

// syncDirs makes the names of the directories below root, down to leaf,
// durable.
func syncDirs(root, leaf string) error {
	root = filepath.Clean(root)
	for dir := leaf; dir != root && dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		if err := wholefile.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// CleanTemp removes the temporary files that killed runs left under dir: of
// tables, of the views, and of copies of lists, which name sites without a
// card. Only the holder of the output directory's lock may call it.
func CleanTemp(dir string) error {
	for _, root := range []string{filepath.Join(dir, "data"), filepath.Join(dir, stateDir), dir} {
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
		case entry.Type().IsRegular() && wholefile.IsTemp(entry.Name()):
			return os.Remove(path)
		}
		return nil
	})
}
