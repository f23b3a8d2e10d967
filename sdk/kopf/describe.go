package kopf

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine"
)

// describeIfAsked answers a request to describe the operator instead of running it, as "kopf manifests" makes it.
// It reports whether there was one.
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
