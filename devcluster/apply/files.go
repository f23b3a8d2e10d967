package apply

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
			return nil, pathError(path, err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, pathError(path, err)
		}
		found := false
		for _, e := range entries {
			if !slices.Contains(extensions, filepath.Ext(e.Name())) {
				continue
			}
			file := filepath.Join(path, e.Name())
			if info, err := os.Stat(file); err == nil && info.IsDir() {
				continue // or a link to a directory
			}
			files, found = append(files, file), true
		}
		if !found {
			return nil, pathError(path, errors.New("no .yaml, .yml or .json file in this folder (subfolders are not searched)"))
		}
	}
	return files, nil
}

// maxFile is the maximal size of a manifest file in bytes. The API server accepts objects of
// about 3 MB.
const maxFile = 64 << 20

// readFile reads a file of manifests. It accepts only regular files: a device may be endless,
// and a pipe blocks and can be read only once, but manifests are read again for every apply.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, pathError(path, fmt.Errorf("is %s; name a file of manifests, or a folder with them", kindOf(info.Mode())))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	defer func() { _ = file.Close() }() // only read
	var body bytes.Buffer
	// The size of the file may be wrong, as it is in /proc.
	if n, err := io.Copy(&body, io.LimitReader(file, maxFile+1)); err != nil || n > maxFile {
		if err == nil {
			err = fmt.Errorf("is larger than %d MB, which no manifest is", maxFile>>20)
		}
		return nil, pathError(path, err)
	}
	return body.Bytes(), nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "not a regular file"
}

// pathError returns a [PathError] whose text names the path once.
func pathError(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return &PathError{Path: path, Err: err}
}
