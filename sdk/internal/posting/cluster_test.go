package posting_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/apiclient"
	"github.com/kopf-dev/kopf/sdk/internal/controlplanetest"
	"github.com/kopf-dev/kopf/sdk/internal/k8sevent"
	"github.com/kopf-dev/kopf/sdk/internal/posting"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func TestARealClusterTakesEventsAndTheirRepetitions(t *testing.T) {
	client := controlplanetest.Client(t, apiclient.Options{})
	namespace := controlplanetest.Namespace(t, client)
	p := posting.New(posting.Options{Client: client, Component: "tester"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	defer func() { cancel(); <-done }()

	about := k8sevent.Ref{APIVersion: "kopf.dev/v1", Kind: "KopfExample", Name: "n", UID: "u", Namespace: namespace}
	for n := 1; n <= 3; n++ {
		p.Post(about, k8sevent.Content{Type: k8sevent.Warning, Reason: "Why", Message: "what", At: time.Now()})
		controlplanetest.Eventually(t, "the event", func() error {
			if stats := p.Stats(); stats.Posted+stats.Repeated != n {
				return fmt.Errorf("%+v", stats)
			}
			return nil
		})
	}
	list, err := client.List(t.Context(), k8sevent.Resource(), namespace, apiclient.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatal(list, err)
	}
	tree, err := list.Items[0].Tree()
	if err != nil || tree["count"] != int64(3) || tree["message"] != "what" || tree["reportingComponent"] != "tester" || tree["type"] != "Warning" {
		t.Error(tree, err)
	}
}
