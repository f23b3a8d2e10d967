package observe

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// denials are the messages of the API server about a denied request, by a webhook and by an admission policy.
var denials = []*regexp.Regexp{
	regexp.MustCompile(`admission webhook ("(?:[^"\\]|\\.)*") denied the request(?:: ?(?s:(.*))| without explanation)`),
	regexp.MustCompile(`ValidatingAdmissionPolicy '([^']*)' with binding '[^']*' denied request(?:: ?(?s:(.*)))?`),
}

// failingOf returns an error with the name of the webhook or policy that denies the request, if it does.
func failingOf(message string) *inspect.Failing {
	for _, denial := range denials {
		found := denial.FindStringSubmatch(message)
		if found == nil {
			continue
		}
		name, err := strconv.Unquote(found[1])
		if err != nil {
			name = found[1]
		}
		said := strings.TrimSpace(found[2])
		if said == "" {
			said = "without explanation"
		}
		return &inspect.Failing{DeniedBy: name, Message: said}
	}
	return &inspect.Failing{Message: message}
}
