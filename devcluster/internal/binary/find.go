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

// finder has all that the search depends on.
type finder struct {
	override   string // the value of EnvVar
	executable string // this program
	cache      string // where built programs are kept
	source     source // what to build where there is none
	report     func(Progress)
}

// Find returns the path of the program: the one that KOPF_CONTROLPLANE names, else the
// one beside this executable, else the one in the user's cache directory, which is
// built if it is not there.
func Find(ctx context.Context, report func(Progress)) (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this executable: %w", err)
	}
	// A link in a folder of links says nothing about what lies beside the program.
	if real, err := filepath.EvalSymlinks(executable); err == nil {
		executable = real
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory: %w", err)
	}
	f := finder{
		override: os.Getenv(EnvVar), executable: executable, report: report,
		cache: filepath.Join(cache, "kopf", "controlplane"), source: locateSource(executable),
	}
	return f.find(ctx)
}

func (f finder) find(ctx context.Context) (string, error) {
	if f.override != "" {
		if !isProgram(f.override) {
			return "", &fault.Error{
				Kind: fault.ErrNotFound, Message: fmt.Sprintf("%s is set to %s, which is no program", EnvVar, f.override),
				Next: "correct or unset it",
			}
		}
		return filepath.Abs(f.override)
	}
	for _, name := range []string{"kopf-controlplane", "controlplane"} {
		if beside := filepath.Join(filepath.Dir(f.executable), name); isProgram(beside) {
			return beside, nil
		}
	}
	if f.source.dir == "" && f.source.version == "" {
		return "", &fault.Error{
			Kind:    fault.ErrNotFound,
			Message: "the program of the embedded control plane is not there, nor its source, and this kopf has no version to fetch it by",
			Next:    "run kopf from its checkout, install a release, or set " + EnvVar + " to the program",
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
