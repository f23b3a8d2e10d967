// Package origin finds out where this kopf comes from: a checkout, or a release.
package origin

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// Module is the path of the tool's module.
const Module = "github.com/kopf-dev/kopf"

// Checkout returns the folder of the checkout that this program was built from, or in which the
// executable is. It returns "" if there is none.
func Checkout(executable string) string {
	// With -trimpath, this is not a path of the file system.
	if _, file, _, _ := runtime.Caller(0); filepath.IsAbs(file) {
		// This file is internal/origin/origin.go.
		if dir := filepath.Dir(filepath.Dir(filepath.Dir(file))); isCheckout(dir) {
			return dir
		}
	}
	return above(executable)
}

// above returns the folder of the checkout that a path is in, or "".
func above(path string) string {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if isCheckout(dir) {
			return dir
		}
	}
	return ""
}

func isCheckout(dir string) bool {
	body, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(body) == Module
}

// Version returns the released version of this program, or "" for a local build, whose version is
// (devel) or marked as modified.
func Version() string { return released(debug.ReadBuildInfo()) }

func released(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return ""
	}
	version := ""
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == Module && m.Replace == nil {
			version = m.Version
		}
	}
	if !semver.IsValid(version) || semver.Build(version) != "" {
		return ""
	}
	return version
}
