package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// DescribeVariable is the environment variable that makes an operator describe itself and stop,
// instead of connecting to a cluster. It names a file with a [DescribeRequest].
const DescribeVariable = "KOPF_DESCRIBE"

// DescribeRequest asks an operator to describe itself.
type DescribeRequest struct {
	// Resources are the resources of the operator's future cluster. They resolve the selectors, in place of the
	// discovery of a cluster.
	Resources []APIResource `json:"resources"`

	// Answer is the file that each operator of the program appends its [Description] to, as a line of
	// JSON.
	Answer string `json:"answer"`
}

// APIResource is a resource as the discovery of a cluster describes it.
type APIResource struct {
	Group        string   `json:"group,omitempty"`
	Version      string   `json:"version"`
	Plural       string   `json:"plural"`
	Kind         string   `json:"kind"`
	Singular     string   `json:"singular,omitempty"`
	Shortcuts    []string `json:"shortcuts,omitempty"`
	Categories   []string `json:"categories,omitempty"`
	Subresources []string `json:"subresources,omitempty"`
	Verbs        []string `json:"verbs,omitempty"`
	Namespaced   bool     `json:"namespaced,omitempty"`
	Preferred    bool     `json:"preferred,omitempty"` // its group prefers the version
}

// Description describes an operator without a cluster. It does not have settings that startup handlers change.
type Description struct {
	Version    int      `json:"version"` // version of the format: [DescriptionVersion]
	Namespaces []string `json:"namespaces,omitempty"`

	Handlers    []Registration `json:"handlers"`
	Permissions []Permission   `json:"permissions"`

	// Unserved are the selectors that match no resource, or several.
	Unserved []Unserved `json:"unserved,omitempty"`

	// Assumed are the resources that the request does not list. Their plural names and groups
	// come from the selectors.
	Assumed []string `json:"assumed,omitempty"`

	Liveness  string `json:"liveness,omitempty"` // the URL that the operator reports its health at
	Finalizer string `json:"finalizer"`          // the name of its finalizer

	// Prefix begins the names of the annotations with the operator's own records. An operator built with an SDK that does not know
	// this field leaves it empty.
	Prefix string `json:"prefix,omitempty"`

	// Records are the paths of the fields of an object with the last-handled state, and with the handlers' progress in the status. The
	// annotations of single handlers are not among them. It is empty if the operator was built with an SDK that does not know this field,
	// or if the storage of the last-handled state is the user's own.
	Records [][]string `json:"records,omitempty"`

	// Reviewed are the resources of the request that have admission handlers, as "plural.version.group". An operator
	// built with an SDK that does not know this field has none.
	Reviewed []string `json:"reviewed,omitempty"`

	// Webhooks is the name of the webhook configurations that the operator writes; empty if it writes none.
	Webhooks string `json:"webhooks,omitempty"`

	// Peering is the name of the peering objects of the operator; empty if it ignores other operators.
	Peering string `json:"peering,omitempty"`

	// Leases are the leases that the operator's replicas share.
	Leases Leases `json:"leases,omitzero"`
}

// Leases are the leases of an operator's replicas. If the name is empty, the operator uses no leases.
type Leases struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"` // defaults to the operator's namespace
	Shards    int    `json:"shards,omitempty"`    // the number of shards; 0 for leader election
}

// DescriptionVersion is the version of the format of a [Description].
const DescriptionVersion = 1

// Registration is a registered handler.
type Registration struct {
	ID       string      `json:"id"`
	Kind     HandlerKind `json:"kind"`
	Selector string      `json:"selector,omitempty"`
	Source   string      `json:"source"` // folder/file:line

	// Version is the version of the handler's code; empty if it has none.
	Version string `json:"version,omitempty"`
}

// Permission is something that an operator does with a resource.
type Permission struct {
	Group     string          `json:"group"`           // "*" for all
	Resource  string          `json:"resource"`        // the plural name, with a subresource after a slash; "*" for all
	Names     []string        `json:"names,omitempty"` // names of the only objects; empty for all objects
	Verbs     []string        `json:"verbs"`
	Scope     PermissionScope `json:"scope"`
	Namespace string          `json:"namespace,omitempty"` // namespace for [ScopeNamed]
	Purpose   string          `json:"purpose"`             // reason for the permission, without a full stop
	Handlers  []string        `json:"handlers,omitempty"`  // handlers that need it, as "id (folder/file:line)"; empty for the operator itself
}

// HandledObjects is the purpose of the permissions for the objects that handlers are for.
const HandledObjects = "the handled objects"

// PermissionScope is where a permission is needed.
type PermissionScope string

// The scopes of permissions.
const (
	ScopeCluster PermissionScope = "cluster" // objects of the whole cluster, or of no namespace
	ScopeServed  PermissionScope = "served"  // objects in the namespaces that the operator serves
	ScopeOwn     PermissionScope = "own"     // objects in the namespace that the operator runs in
	ScopeNamed   PermissionScope = "named"   // objects in the Namespace of the permission
)

// ReadDescribeRequest returns the request of the environment, or nil if there is none.
func ReadDescribeRequest() (*DescribeRequest, error) {
	path := os.Getenv(DescribeVariable)
	if path == "" {
		return nil, nil
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("describe the operator: %w", err)
	}
	var r DescribeRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("describe the operator: read %s: %w", path, err)
	}
	return &r, nil
}

// Respond appends a description to the answer.
func (r *DescribeRequest) Respond(d Description) (err error) {
	d.Version = DescriptionVersion
	line, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("describe the operator: %w", err)
	}
	f, err := os.OpenFile(r.Answer, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("describe the operator: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("describe the operator: %w", err)
	}
	return nil
}

// ReadDescriptions reads the answer to a request: one description for each operator of the program.
func ReadDescriptions(r io.Reader) ([]Description, error) {
	var all []Description
	for decoder := json.NewDecoder(r); ; {
		var d Description
		err := decoder.Decode(&d)
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read the description of the operator: %w", err)
		case d.Version != DescriptionVersion:
			return nil, fmt.Errorf("read the description of the operator: it has the format %d, and this program reads %d; use versions of kopf and of its SDK that belong together", d.Version, DescriptionVersion)
		}
		all = append(all, d)
	}
}
