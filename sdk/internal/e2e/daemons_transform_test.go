package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestWhatDaemonsTransformArrivesWhateverOthersDoMeanwhile(t *testing.T) {
	w := newWorld(t)
	var conflicts atomic.Int32
	contend := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			// All of the transformations are made for a version that is not the newest any more.
			if strings.Contains(req.Header.Get("Content-Type"), "json-patch") && conflicts.Add(1)%2 == 1 {
				w.patch("x", tree{"spec": tree{"field": fmt.Sprint("conflict ", conflicts.Load())}})
			}
			return next.RoundTrip(req)
		})
	}
	adds := func(p *kopf.Patch, item string) {
		kopf.Transform(p, func(o *listed) { o.Spec.Items = append(o.Spec.Items, item) })
	}
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(ctx context.Context, d *kopf.DaemonRun[listed]) error {
			adds(d.Patch, "applied")
			if err := d.Apply(ctx); err != nil {
				return err
			}
			if items := fmt.Sprint(d.Object().Spec.Items); items != "[item1 item2 applied]" {
				t.Errorf("after it was applied, there is %s", items)
			}
			adds(d.Patch, "last")
			return nil
		}, kopf.ID("d"))
		kopf.Timer(reg, kexes, func(_ context.Context, c *kopf.TimerTick[listed]) error {
			if len(c.Object.Spec.Items) != 4 {
				return kopf.Temporaryf(time.Millisecond, "the daemon is not done yet")
			}
			adds(c.Patch, "ticked")
			return nil
		}, kopf.ID("t"), kopf.Interval(time.Hour))
	}, setup{wrap: contend, config: w.restricted()})
	w.create(example("x"))
	w.until("x", "has all items", func(o *kopf.Object) bool {
		return fmt.Sprint(o.Get("spec.items")) == "[item1 item2 applied last ticked]"
	})
	for _, e := range op.journal.all() {
		if strings.Contains(e.String(), "cannot be sent") {
			t.Error(e)
		}
	}
}
