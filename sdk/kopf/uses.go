package kopf

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Uses declares the API requests that the handler makes by [Apply] or with its own client (see [RESTConfig]). The verbs are
// RBAC verbs, such as "get", "list", "watch", "create", "update", "patch" and "delete". A handler can have several Uses. A
// subresource follows the name of the resource after a slash:
//
//	kopf.OnCreate(r, examples, createPod, kopf.Uses(kopf.Resource("v1", "pods"), "create"))
//	kopf.OnUpdate(r, examples, resize, kopf.Uses(kopf.Resource("apps/v1", "deployments/scale"), "patch"))
//
// "kopf manifests" grants these permissions to the deployed operator, in addition to the permissions that the operator needs for
// the handled resources. [Apply] refuses kinds without "get", "create" and "patch". Apart from that, Uses does not change how
// the operator runs. See [Permissions].
//
// [Permissions]: https://github.com/kopf-dev/kopf/blob/main/docs/permissions.md
func Uses(resource Selector, verbs ...string) Option {
	return option(func(c *config) {
		use, err := parseUse(resource, verbs)
		if err != nil {
			c.fail("Uses: %v", err)
			return
		}
		c.Handler.Uses = append(c.Handler.Uses, use)
	})
}

// verbName matches the verbs of permissions, including verbs that extensions define.
var verbName = regexp.MustCompile(`^[a-z]+$`)

func parseUse(resource Selector, verbs []string) (handlers.Use, error) {
	var use handlers.Use
	name, subresource, _ := strings.Cut(resource.Name, "/")
	resource.Name, use.Subresource = name, subresource
	selector, err := resource.engine()
	if err != nil {
		return use, err
	}
	if len(verbs) == 0 {
		return use, fmt.Errorf("%s: no verbs; name some, such as \"get\" or \"create\"", selector)
	}
	for _, verb := range verbs {
		if !verbName.MatchString(verb) {
			return use, fmt.Errorf("%s: %q is not a verb such as \"get\" or \"create\"; give each verb as a separate argument", selector, verb)
		}
	}
	use.Selector, use.Verbs = selector, verbs
	return use, nil
}
