package e2e

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// With the same id twice, the parent fails for good: nothing is called, and nothing is called again.
func TestSub_SameIDTwiceFailsForGoodAndNamesBothPlaces(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, ch *change) error {
			c.add("parent")
			ch.Sub("part", c.does("part"))
			ch.Sub("part", c.does("other part"))
			if err := ch.Execute(ctx); !errors.Is(err, kopf.ErrRegistration) {
				t.Errorf("Execute returns %v", err)
			}
			return nil
		}, kopf.ID("parent"))
	})
	x := cluster.Create(example("x"))
	cluster.WaitUntil("it has failed", func() bool { return len(failures(x.Get())) == 1 })
	c.are(t, "parent")
	for _, failed := range failures(x.Get()) {
		want := regexp.MustCompile(`sub-handler \\"parent/part\\" is added at e2e/subhandlers_test\.go:\d+ and again at e2e/subhandlers_test\.go:\d+; give`)
		if !want.MatchString(failed) {
			t.Errorf("the object says %s", failed)
		}
	}
}
