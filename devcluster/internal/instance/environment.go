package instance

import (
	"slices"
	"strings"
)

// inherited are the variables that a control plane inherits: those of Go's runtime, and those
// about the machine. It needs no others, and they may be secrets, such as tokens, which other
// programs could read from the process or which could leak into its logs and its pods.
var inherited = []string{
	"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "GOTRACEBACK",
	"PATH", "TMPDIR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// environment returns the variables that a control plane inherits from the given ones.
func environment(all []string) []string {
	kept := []string{} // nil would mean all
	for _, v := range all {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(inherited, name) {
			kept = append(kept, v)
		}
	}
	return kept
}
