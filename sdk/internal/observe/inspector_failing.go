package observe

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// denials match the messages of the API server about a request that a webhook or an admission policy denied.
var denials = []*regexp.Regexp{
	regexp.MustCompile(`admission webhook ("(?:[^"\\]|\\.)*") denied the request(?:: ?(?s:(.*))| without explanation)`),
	regexp.MustCompile(`ValidatingAdmissionPolicy '([^']*)' with binding '[^']*' denied request(?:: ?(?s:(.*)))?`),
}

// failingOf returns an error for the inspector, with the name of the webhook or policy if one denied the request.
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
