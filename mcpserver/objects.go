package mcpserver

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// objectName is how a client names an object.
type objectName struct {
	Kind      string `json:"kind" jsonschema:"the kind, the plural or the short name of the resource"`
	Name      string `json:"name" jsonschema:"the name of the object"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the namespace; only needed if several objects have the name"`
}

func (n objectName) String() string {
	name := n.Kind + "/" + n.Name
	if n.Namespace != "" {
		name += " in " + n.Namespace
	}
	return name
}

var errNoOperator = errors.New("no operator has run yet; status tells why")

// find returns the only object of a name.
func find(state *explain.State, n objectName) (*inspect.Object, error) {
	if state.Snapshot == nil {
		return nil, errNoOperator
	}
	var found []*inspect.Object
	for _, o := range state.Objects {
		if o.Name == n.Name && (n.Namespace == "" || o.Namespace == n.Namespace) && inspect.IsNamed(o, n.Kind) {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("the operator does not know %s; the tool objects lists the known objects", n)
	}
	names := make([]string, len(found))
	for i, o := range found {
		names[i] = o.Namespace
	}
	return nil, fmt.Errorf("several objects are named %s; name the namespace: %s", n, strings.Join(names, ", "))
}
