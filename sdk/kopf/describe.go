package kopf

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine"
)

// describeIfAsked describes the operator if "kopf manifests" started the program for a description. It reports whether it
// described the operator, which must not run then.
func describeIfAsked(config engine.Config) (asked bool, err error) {
	request, err := inspect.ReadDescribeRequest()
	if err != nil || request == nil {
		return request != nil || err != nil, err
	}
	description, err := engine.Describe(config, request.Resources)
	if err != nil {
		return true, fmt.Errorf("describe the operator: %w", err)
	}
	return true, request.Respond(description)
}
