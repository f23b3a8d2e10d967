package kopf

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// VersionOption is an option of the handlers that can be called again after an upgrade: [OnCreate], [OnUpdate], [OnField] and [OnResume].
type VersionOption interface {
	CreateOption
	UpdateOption
	ResumeOption
}

// maxVersion is the maximum length of a version in bytes.
const maxVersion = 40

// Version names the version of the handler's code. When the handler succeeds, the operator stores the version on the object. An operator
// with another version calls no handler by itself: "kopf rehandle" marks the objects that another version has handled, and the operator
// calls the handler for them again. Objects without a stored version count as handled by version "1", which is not stored, so adding the
// option to a handler changes no object. An empty version, one with more than 40 bytes, and one with spaces are registration errors, and
// so are different versions of one id. See [Rehandling].
//
// [Rehandling]: https://github.com/kopf-dev/kopf/blob/main/docs/rehandling.md
func Version(version string) VersionOption {
	return once("Version", func(c *config) {
		c.Version, c.versions = version, compareVersions
		plan.UseVersions()
		bad := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
		switch {
		case version == "":
			c.fail("the Version is empty")
		case len(version) > maxVersion:
			c.fail("Version(%q) has %d bytes; want at most %d", version, len(version), maxVersion)
		case !utf8.ValidString(version) || strings.ContainsFunc(version, bad):
			c.fail("Version(%q): want a text without spaces, such as \"2\"", version)
		}
	})
}

// compareVersions returns an error if two registrations of one id have different versions, although both can have one.
func compareVersions(h, other *handlers.Handler, source string) error {
	versioned := func(f handlers.Family) bool {
		return f == handlers.Create || f == handlers.Update || f == handlers.Field || f == handlers.Resume
	}
	if h.ID != other.ID || h.Version == other.Version || !versioned(h.Family) || !versioned(other.Family) {
		return nil
	}
	return fmt.Errorf("handler %q has the Version %q, and the Version %q at %s; an id has one version: give both the same", h.ID, h.Version, other.Version, source)
}
