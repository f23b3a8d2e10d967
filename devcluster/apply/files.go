package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// extensions are the file names that are read from a directory. A file named directly may have
// any extension.
var extensions = []string{".yaml", ".yml", ".json"}

// expand replaces directories by the manifest files in them.
func expand(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("find manifests: %w", err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("find manifests: %w", err)
		}
		found := false
		for _, e := range entries {
			if !e.IsDir() && slices.Contains(extensions, filepath.Ext(e.Name())) {
				files, found = append(files, filepath.Join(path, e.Name())), true
			}
		}
		if !found {
			return nil, fmt.Errorf("find manifests: no .yaml, .yml or .json file in %s (subdirectories are not searched)", path)
		}
	}
	return files, nil
}
