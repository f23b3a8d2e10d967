package reactor

import (
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/apiclient"
	"github.com/kopf-dev/kopf/sdk/internal/logging"
)

// requests returns what is told of each request to the cluster; nil if nobody wants to know.
func (o *operator) requests() func(apiclient.Call) {
	logs, counts := o.traffic(), o.meters.requests()
	switch {
	case logs == nil:
		return counts
	case counts == nil:
		return logs
	}
	return func(call apiclient.Call) {
		logs(call)
		counts(call)
	}
}

// traffic returns what logs each request to the cluster; nil if nobody wants to know.
func (o *operator) traffic() func(apiclient.Call) {
	if !o.config.Traffic {
		return nil
	}
	logger := o.logger.With(logging.NameKey, "kopf.clients")
	return func(call apiclient.Call) {
		took := call.Duration.Round(10 * time.Microsecond)
		switch {
		case call.Status == 0:
			logger.Debug(fmt.Sprintf("%s %s: no response in %s", call.Method, call.Path, took), "error", call.Err)
		case call.Err != nil:
			logger.Debug(fmt.Sprintf("%s %s: %d in %s", call.Method, call.Path, call.Status, took), "error", call.Err)
		default:
			logger.Debug(fmt.Sprintf("%s %s: %d in %s", call.Method, call.Path, call.Status, took))
		}
	}
}
