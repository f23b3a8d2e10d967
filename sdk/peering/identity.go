package peering

import (
	"cmp"
	"crypto/rand"
	"os"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// NewIdentity returns the identity of an operator that has none: $POD_ID, or else one that is unique to this
// call, made of the user, the host and the time, such as "alice@laptop/2026-01-31T12:00:00.000000+00:00/x7f".
func NewIdentity() string {
	if pod := os.Getenv("POD_ID"); pod != "" {
		return pod
	}
	return PersonalIdentity() + "/" + object.FormatTime(time.Now()) + "/" + strings.ToLower(rand.Text()[:3])
}

// PersonalIdentity returns the identity of "kopf freeze" and "kopf resume": $POD_ID, or else the user and
// the host, such as "alice@laptop". It is the same in all processes of a person.
func PersonalIdentity() string {
	if pod := os.Getenv("POD_ID"); pod != "" {
		return pod
	}
	name := cmp.Or(os.Getenv("LOGNAME"), os.Getenv("USER"), os.Getenv("USERNAME"), "operator")
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return strings.ToLower(name) + "@" + host
}
