package devcluster

import (
	"os"
	"path/filepath"
	"testing"
)

func TestProjectOf_IsFolderOfClosestModule(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"mod/handlers/deep", "mod/nested/x", "plain/go.mod"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"mod/go.mod", "mod/nested/go.mod"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "mod", "handlers"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"mod": "mod", "mod/handlers/deep": "mod", "mod/nested/x": "mod/nested", "plain": "plain", "link": "mod",
	} {
		if got := ProjectOf(filepath.Join(root, dir)); got != filepath.Join(root, want) {
			t.Errorf("%s is of %s", dir, got)
		}
	}
}

func TestSlug_IsValidName(t *testing.T) {
	for folder, want := range map[string]string{
		"hello": "hello", "My_App.v2": "my-app-v2", "--x--": "x", "日本": "dev", "/": "dev", ".": "dev",
		"a-very-long-name-of-a-folder-with-handlers": "a-very-long-name-of-a-folder",
	} {
		if got := slug(folder); got != want || checkName(got+"-123456-99") != nil {
			t.Errorf("%s: %s", folder, got)
		}
	}
}
