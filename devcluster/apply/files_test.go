package apply

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestRead_RefusesWhatIsNotRegularFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.yaml")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	huge := put(t, dir, "huge.yaml", "")
	if err := os.Truncate(huge, maxFile+1); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(pipe, filepath.Join(folder, "in-folder.yaml")); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		"/dev/zero":                     "is a device; name a file of manifests",
		link:                            "is a device",
		pipe:                            "is a pipe",
		folder:                          "is a pipe",
		huge:                            "is larger than 64 MB",
		filepath.Join(dir, "none.yaml"): "no such file or directory",
		filepath.Join(t.TempDir()):      "no .yaml, .yml or .json file",
		put(t, dir, "file", "") + "/impossible.txt": "not a directory",
	} {
		_, err := Read([]string{path})
		if _, ok := errors.AsType[*PathError](err); !ok || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Read([]string{filepath.Join(dir, "none.yaml")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the reason of %v is lost", err)
	}
}

func TestRead_SkipsLinkToDirectory(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.yaml", configMap("a"))
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "folder.yaml")); err != nil {
		t.Fatal(err)
	}
	manifests, err := Read([]string{dir})
	if err != nil || !slices.Equal(names(manifests), []string{"a"}) {
		t.Errorf("read are %q (%v)", names(manifests), err)
	}
}
