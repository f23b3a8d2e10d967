package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/internal/testmain"
)

// fakeSDK is the folder of a module with the SDK's path: the real packages of the inspector
// and the fake package kopf of testdata. It depends on the standard library only, so that operators
// are built quickly and without network access.
var fakeSDK string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kopf-runner-test-")
	if err == nil {
		fakeSDK = dir
		defer func() { _ = os.RemoveAll(dir) }()
		err = copyFakeSDK(dir)
	}
	for name, value := range map[string]string{"GOWORK": "off", "GOFLAGS": "-mod=mod", "GOPROXY": "off"} {
		if err == nil {
			err = os.Setenv(name, value)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if code == 0 {
		if err := testmain.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

func copyFakeSDK(dir string) error {
	if err := os.CopyFS(dir, os.DirFS("testdata/sdk")); err != nil {
		return err
	}
	for _, pkg := range []string{"inspect", "internal/inspector", "printable"} {
		if err := copyPackage(filepath.Join("../sdk", pkg), filepath.Join(dir, pkg)); err != nil {
			return err
		}
	}
	return nil
}

// copyPackage copies the files of a package, without its tests.
func copyPackage(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// tree creates a folder with the files, and with a go.mod unless the files include one.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := files["go.mod"]; !ok {
		write(t, dir, "go.mod", module("example.com/op"))
	}
	for name, text := range files {
		if text != "" {
			write(t, dir, name, text)
		}
	}
	return dir
}

func module(path string) string {
	return fmt.Sprintf("module %s\n\ngo 1.26.0\n\nrequire github.com/kopf-dev/kopf/sdk v0.1.0\n\nreplace github.com/kopf-dev/kopf/sdk => %s\n", path, fakeSDK)
}

// write writes a file in one step, so that a reader never finds a part of it, however slow the machine is.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path, whole := filepath.Join(dir, name), filepath.Join(t.TempDir(), "whole")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(whole, []byte(text), 0o600), os.Rename(whole, path)); err != nil {
		t.Fatal(err)
	}
}

// handlers returns a source file whose Register has this body.
func handlers(pkg, body string) string {
	return fmt.Sprintf("package %s\n\nimport \"github.com/kopf-dev/kopf/sdk/kopf\"\n\nfunc Register(r *kopf.Registry) {\n\t%s\n}\n", pkg, body)
}
