package observe_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m, testcluster.Exit) }

func TestPoster_RealClusterAcceptsEventsAndRepetitions(t *testing.T) {
	client := testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	p := observe.NewPoster(observe.PosterOptions{Client: client, Component: "tester"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	defer func() { cancel(); <-done }()

	about := observe.ObjectReference{APIVersion: "kopf.dev/v1", Kind: "KopfExample", Name: "n", UID: "u", Namespace: namespace}
	for n := 1; n <= 3; n++ {
		p.Post(about, observe.EventContent{Type: observe.Warning, Reason: "Why", Message: "what", At: time.Now()})
		testcluster.Eventually(t, "the event", func() error {
			if stats := p.Stats(); stats.Posted+stats.Repeated != n {
				return fmt.Errorf("%+v", stats)
			}
			return nil
		})
	}
	list, err := client.List(t.Context(), observe.EventsResource(), namespace, kube.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatal(list, err)
	}
	tree, err := list.Items[0].Tree()
	if err != nil || tree["count"] != int64(3) || tree["message"] != "what" || tree["reportingComponent"] != "tester" || tree["type"] != "Warning" {
		t.Error(tree, err)
	}
}
