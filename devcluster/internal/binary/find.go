package binary

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// EnvVar names a program to use instead of looking for one.
const EnvVar = "KOPF_CONTROLPLANE"

// finder searches for the program.
type finder struct {
	override   string // the value of EnvVar
	executable string // the path of kopf itself
	cache      string // the directory of programs
	source     source // source to build if no program is found
	releases   string // the value of ReleasesVar
	report     func(Progress)
}

// Find returns the path of the program of the embedded control plane: the one named by
// KOPF_CONTROLPLANE, or the one next to this executable, or the one in the user's cache
// directory. If it is missing, it is fetched from the release of this version of kopf, or else built. Find
// calls report with the steps.
func Find(ctx context.Context, report func(Progress)) (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this executable: %w", err)
	}
	// The program is next to the executable itself, not next to a link to it.
	if real, err := filepath.EvalSymlinks(executable); err == nil {
		executable = real
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	f := finder{
		override: os.Getenv(EnvVar), executable: executable, report: report,
		cache: filepath.Join(cache, "kopf", "controlplane"), source: locateSource(executable),
		releases: os.Getenv(ReleasesVar),
	}
	return f.find(ctx)
}

func (f finder) find(ctx context.Context) (string, error) {
	if f.override != "" {
		if !isProgram(f.override) {
			return "", &fault.Error{
				Kind: fault.ErrNotFound, Message: fmt.Sprintf("%s is set to %s, which is not an executable file", EnvVar, f.override),
				Next: "correct or unset it",
			}
		}
		return filepath.Abs(f.override)
	}
	for _, name := range []string{"kopf-controlplane", "controlplane"} {
		if path := filepath.Join(filepath.Dir(f.executable), name); isProgram(path) {
			return path, nil
		}
	}
	if f.source.dir == "" && f.source.version == "" {
		return "", &fault.Error{
			Kind:    fault.ErrNotFound,
			Message: "cannot find the program of the embedded control plane, nor its source: this kopf is not a released version",
			Next:    "run kopf from its checkout, install a release, or set " + EnvVar + " to the path of the program",
		}
	}
	key, err := f.source.key()
	if err != nil {
		return "", err
	}
	return f.cached(ctx, key)
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
