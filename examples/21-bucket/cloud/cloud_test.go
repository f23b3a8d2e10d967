package cloud_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/examples/21-bucket/cloud"
)

func TestCloud_KnownKeysHaveNoSecondEffect(t *testing.T) {
	server := &cloud.Server{}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	client, ctx := &cloud.Client{URL: web.URL}, t.Context()

	if _, ok, err := client.FindBucket(ctx, "a"); ok || err != nil {
		t.Errorf("there is a bucket before the first one: %v", err)
	}
	for range 2 {
		if id, err := client.CreateBucket(ctx, "a", "1G"); id != "bucket-1" || err != nil {
			t.Errorf("%q: %v", id, err)
		}
		if err := client.Grant(ctx, "a", "bucket-1", "alice"); err != nil {
			t.Error(err)
		}
	}
	if _, err := client.CreateBucket(ctx, "a", "2G"); err == nil || !strings.Contains(err.Error(), "422") {
		t.Errorf("the key belongs to another size: %v", err)
	}
	for _, key := range []string{"b", "", ""} {
		if _, err := client.CreateBucket(ctx, key, "1G"); err != nil {
			t.Error(err)
		}
	}
	if id, ok, err := client.FindBucket(ctx, "b"); id != "bucket-2" || !ok || err != nil {
		t.Errorf("%q: %v", id, err)
	}
	all := server.Buckets()
	if len(all) != 4 || !slices.Equal(all[0].Readers, []string{"alice"}) {
		t.Errorf("%+v", all)
	}
	for range 2 { // the second one does not exist
		if err := client.RemoveBucket(ctx, "bucket-1"); err != nil {
			t.Error(err)
		}
	}
	if err := client.Resize(ctx, "bucket-1", "2G"); err == nil {
		t.Error("the bucket was removed")
	}
	if err := client.Resize(ctx, "bucket-2", "2G"); err != nil || server.Buckets()[0].Size != "2G" {
		t.Errorf("%v: %+v", err, server.Buckets())
	}
}
