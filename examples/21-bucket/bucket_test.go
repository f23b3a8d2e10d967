package bucket

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/kopf-dev/kopf/examples/21-bucket/cloud"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

// serve starts a cloud for the test.
func serve(t testing.TB, server *cloud.Server) *operator {
	t.Helper()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	return &operator{cloud: &cloud.Client{URL: web.URL}}
}

func TestBucket_LivesAsLongAsItsObject(t *testing.T) {
	cluster, server := kopftest.New(t), &cloud.Server{}
	cluster.ApplyFile("crd.yaml")
	operator := cluster.Run(serve(t, server).register)
	uploads := cluster.ApplyFile("obj.yaml")
	uploads.WaitValue("status.bucket", "bucket-1")
	if all := server.Buckets(); len(all) != 1 || all[0].Size != "1G" || !slices.Equal(all[0].Readers, []string{"alice"}) {
		t.Errorf("%+v", all)
	}
	if mails := server.Mails(); !slices.Equal(mails, []string{"alice can read bucket-1"}) {
		t.Errorf("mails: %q", mails)
	}
	uploads.Set("spec.size", "2G")
	operator.WaitHandled(uploads)
	if all := server.Buckets(); len(all) != 1 || all[0].Size != "2G" {
		t.Errorf("%+v", all)
	}
	uploads.Delete()
	uploads.WaitGone()
	if all := server.Buckets(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

func TestBucket_RegisteredOperatorHasItsOwnCloud(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	cluster.Run(Register)
	uploads := cluster.ApplyFile("obj.yaml")
	uploads.WaitValue("status.bucket", "bucket-1")
	uploads.Delete()
	uploads.WaitGone()
}

// TestBucket_DeletedDuringTheCreationLeavesNothing deletes the object while the grant is retried.
func TestBucket_DeletedDuringTheCreationLeavesNothing(t *testing.T) {
	var created, granted atomic.Int32
	server := &cloud.Server{Effect: func(_ context.Context, name, _ string, carryOut func() error) error {
		switch name {
		case "CreateBucket":
			created.Add(1)
		case "Grant":
			granted.Add(1)
			return errors.New("the cloud is busy")
		}
		return carryOut()
	}}
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	cluster.Run(serve(t, server).register)
	uploads := cluster.ApplyFile("obj.yaml")
	cluster.WaitUntil("the grant is tried twice", func() bool { return granted.Load() >= 2 })
	if all := server.Buckets(); len(all) != 1 || created.Load() != 1 {
		t.Errorf("%d requests for %+v", created.Load(), all)
	}
	uploads.Delete()
	uploads.WaitGone()
	if all := server.Buckets(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

func TestBucket_SurvivesEveryCrash(t *testing.T) {
	outside := kopftest.Outside{AtMostOnce: []string{"SendMail"}}
	var o *operator // each run has a cloud of its own
	plan := kopftest.CrashPlan{Register: func(r *kopf.Registry) { o.register(r) }, Outside: &outside}
	kopftest.EveryCrash(t, plan, func(c *kopftest.Crashing) {
		server := &cloud.Server{Effect: outside.Do}
		o = serve(c.T(), server)
		c.ApplyFile("crd.yaml")
		c.Start()
		uploads := c.ApplyFile("obj.yaml")
		c.WaitHandled(uploads)
		uploads.Set("spec.size", "2G")
		c.WaitHandled(uploads)
		uploads.Delete()
		uploads.WaitGone()
		if all := server.Buckets(); len(all) != 0 {
			c.T().Errorf("left behind: %+v", all)
		}
	})
}
