package resources

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// builtin is the discovery of the embedded control plane; a test compares them.
//
//go:embed builtin.json
var builtin []byte

// BuiltIn returns the resources that Kubernetes defines itself, in the version of the embedded control plane.
func BuiltIn() ([]inspect.APIResource, error) {
	var all []inspect.APIResource
	if err := json.Unmarshal(builtin, &all); err != nil {
		return nil, fmt.Errorf("read the resources of Kubernetes: %w", err)
	}
	return all, nil
}
