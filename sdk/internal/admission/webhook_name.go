package admission

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// dnsSubdomain is what Kubernetes accepts as the name of a webhook and in the path of a service.
var dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// CheckManaged returns an error if a name cannot be the suffix of webhook names.
func CheckManaged(name string) error {
	if dnsSubdomain.MatchString(name) && strings.Contains(name, ".") && len(name) <= 128 {
		return nil
	}
	return fmt.Errorf("%q cannot end the names of webhooks: want a domain name with a dot, such as \"claims.example.com\"", name)
}

// Names returns the name of the webhook of each handler by the handler's id, without the suffix. The names are
// distinct. They equal the names of Kopf for Python if Kubernetes accepts these.
func Names(hs []*handlers.Handler) map[string]string {
	names := map[string]string{}
	count := map[string]int{}
	for _, h := range hs {
		if _, known := names[h.ID]; !known {
			name := nameOf(h.ID)
			names[h.ID] = name
			count[name]++
		}
	}
	for id, name := range names {
		if count[name] > 1 {
			names[id] = withHash(name, id)
		}
	}
	return names
}

// nameOf returns the name for an id.
func nameOf(id string) string {
	if name := pythonName(id); dnsSubdomain.MatchString(name) && len(name) <= maxID {
		return name
	}
	labels := strings.Split(pythonName(kebab(id)), ".")
	for i, label := range labels {
		if label = strings.Trim(label, "-"); label == "" {
			label = "x"
		}
		labels[i] = label
	}
	name := strings.Join(labels, ".")
	if len(name) > maxID {
		return withHash(name, id)
	}
	return name
}

// maxID is the number of bytes of a name before the suffix. Kubernetes allows 253 altogether.
const maxID = 120

// withHash makes a webhook's name unique with a hash of the handler's id.
func withHash(name, id string) string {
	sum := sha256.Sum256([]byte(id))
	return strings.TrimRight(name[:min(len(name), maxID-9)], "-.") + "-" + hex.EncodeToString(sum[:4])
}

// pythonName returns the name that Kopf for Python makes of an id.
func pythonName(id string) string {
	var b strings.Builder
	for _, r := range id {
		switch {
		case r == '_':
			b.WriteByte('-')
		case r == '/':
			b.WriteByte('.')
		case r == '.', r == '-', unicode.IsLetter(r), unicode.IsDigit(r):
			b.WriteRune(r)
		default:
			b.WriteString(hex.EncodeToString([]byte(string(r))))
		}
	}
	return b.String()
}

// kebab returns an id in lower case and ASCII, with a hyphen before each word: "checkURLPath" becomes
// "check-url-path".
func kebab(id string) string {
	runes := []rune(id)
	var b strings.Builder
	for i, r := range runes {
		switch {
		case unicode.IsUpper(r):
			after := i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]))
			begins := i > 0 && i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])
			if after || begins {
				b.WriteByte('-')
			}
			r = unicode.ToLower(r)
		}
		if r > unicode.MaxASCII {
			b.WriteString(hex.EncodeToString([]byte(string(r))))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
