package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestOutputPath_NamedOrDefault(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"bin", "taken/operator"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ from, output, goos, want, err string }{
		{"", "", "", "operator", ""},
		{"", "", "windows", "operator.exe", ""},
		{"", "bin/op", "", "bin/op", ""},
		{"", "op", "windows", "op", ""},
		{"", "bin", "", "bin/operator", ""},
		{"", "bin/", "linux", "bin/operator", ""},
		{"bin", "..", "", "operator", ""},
		{"", filepath.Join(dir, "bin"), "", "bin/operator", ""},
		{"taken", "", "", "", "it is a folder; choose another name with --output"},
		{"taken", "operator", "", "taken/operator/operator", ""},
		{"", "none/", "", "none/operator", ""},
		{"", "none/or/such", "", "none/or/such", ""},
	} {
		got, err := outputPath(filepath.Join(dir, test.from), test.output, test.goos)
		if test.err != "" {
			if _, ok := errors.AsType[*usageError](err); !ok || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		if want := filepath.Join(dir, test.want); err != nil || got != want {
			t.Errorf("%+v: %s, %v", test, got, err)
		}
	}
}

func TestBuild_PrintsOnlyPathToStandardOutput(t *testing.T) {
	dir := operatorTree(t, "os.Exit(7)")
	cmd, stdout, stderr := command(t, dir, "build", ".", "-o", "new/folder/built")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	path := filepath.Join(dir, "new", "folder", "built")
	if stdout.String() != path+"\n" || strings.Contains(stderr.String(), "\x1b") {
		t.Errorf("the output is %s and %s", stdout, stderr)
	}
	if got := code(t, exec.CommandContext(t.Context(), path).Run()); got != 7 {
		t.Errorf("the built program exits with %d", got)
	}
	info, err := exec.CommandContext(t.Context(), "go", "version", "-m", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CGO_ENABLED=0", "-trimpath=true", "example.com/op"} {
		if !strings.Contains(string(info), want) {
			t.Errorf("%s is not in %s", want, info)
		}
	}
}

func TestBuild_PlatformFromEnvironment(t *testing.T) {
	dir := operatorTree(t, "")
	for platform, magic := range map[string]string{
		"linux/arm64":  "\x7fELF\x02\x01\x01",
		"darwin/amd64": "\xcf\xfa\xed\xfe",
	} {
		system, machine, _ := strings.Cut(platform, "/")
		cmd, _, stderr := command(t, dir, "build", ".", "-o", system)
		cmd.Env = append(cmd.Env, "GOOS="+system, "GOARCH="+machine)
		if got := code(t, cmd.Run()); got != 0 {
			t.Fatalf("%d, %s", got, stderr)
		}
		built, err := os.ReadFile(filepath.Join(dir, system))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(built), magic) {
			t.Errorf("%s: the file begins with %q", platform, built[:8])
		}
	}
}

func TestBuild_FailureLeavesNoFile(t *testing.T) {
	dir := operatorTree(t, "nonsense()")
	cmd, stdout, stderr := command(t, dir, "build", ".", "-o", "built")
	if got := code(t, cmd.Run()); got != 1 || stdout.String() != "" || !strings.HasSuffix(stderr.String(), "main.go:13:2: undefined: nonsense\n") {
		t.Errorf("%d, %s, %s", got, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "built")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file exists: %v", err)
	}
}
