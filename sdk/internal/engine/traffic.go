package engine

import (
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// requests returns what is told of each request to the cluster; nil if nobody wants to know.
func (o *operator) requests() func(kube.Call) {
	var all []func(kube.Call)
	if o.reporter != nil {
		all = append(all, o.reach.note)
	}
	if o.config.Traffic {
		all = append(all, o.logTraffic())
	}
	if o.meters != nil {
		all = append(all, o.meters.request)
	}
	if len(all) == 0 {
		return nil
	}
	return func(call kube.Call) {
		for _, tell := range all {
			tell(call)
		}
	}
}

// logTraffic returns what logs each request to the cluster.
func (o *operator) logTraffic() func(kube.Call) {
	logger := o.logger.With(observe.NameKey, "kopf.clients")
	return func(call kube.Call) {
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
