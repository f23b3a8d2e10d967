package instance

import (
	"slices"
	"strings"
)

// inherited are the variables that a control plane inherits: variables of Go's runtime, and variables about the
// machine. Other variables are not needed, and may be secrets, such as tokens. Other programs could read the secrets
// from the process, or the secrets could leak into logs and pods.
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
