package relay

import (
	"fmt"
	"io"
	"strings"
)

// greeting is the first line of each side.
const greeting = "kopf-relay 1\n"

// VersionError reports that the other side is no relay, or one of another version.
type VersionError struct{ Got string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the relay greets with %q, not with %q: use an image with the same version of kopf", e.Got, strings.TrimSpace(greeting))
}

// expectGreeting reads the line of the other side, byte by byte, as the frames follow it.
func expectGreeting(r io.Reader) error {
	got := make([]byte, 0, len(greeting))
	for one := make([]byte, 1); len(got) < len(greeting); {
		if _, err := io.ReadFull(r, one); err != nil {
			return fmt.Errorf("read the greeting of the relay: %w", err)
		}
		got = append(got, one[0])
		if one[0] != greeting[len(got)-1] {
			return &VersionError{Got: strings.TrimSpace(string(got))}
		}
	}
	return nil
}
