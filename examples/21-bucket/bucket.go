// Package bucket makes a bucket in a cloud for each object.
package bucket

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/kopf-dev/kopf/examples/21-bucket/cloud"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Bucket is the object.
type Bucket struct {
	Spec struct {
		Size   string `json:"size"`
		Reader string `json:"reader"` // user with access to the bucket
	} `json:"spec"`
	Status struct {
		Bucket string `json:"bucket"` // id of the bucket in the cloud
	} `json:"status"`
}

var buckets = kopf.Resource("kopf.dev/v1", "buckets")

type operator struct {
	cloud *cloud.Client
	own   *http.Server // nil if the cloud is another process
}

// Register registers the handlers. kopf dev and kopf run call it. The variable CLOUD_URL has the address of the cloud; without it, the
// operator starts a cloud of its own, which forgets its buckets when the operator ends.
func Register(r *kopf.Registry) {
	o := &operator{cloud: &cloud.Client{URL: os.Getenv("CLOUD_URL")}}
	if o.cloud.URL == "" {
		kopf.OnStartup(r, o.startCloud)
		kopf.OnCleanup(r, o.stopCloud)
	}
	o.register(r)
}

func (o *operator) register(r *kopf.Registry) {
	kopf.OnCreate(r, buckets, o.createBucket, kopf.GrowingRetryDelay(time.Second, time.Minute))
	kopf.OnField(r, buckets, "spec.size", o.resizeBucket, kopf.Reasons(kopf.ReasonUpdate))
	kopf.OnUndo(r, buckets, "createBucket", "create-bucket", o.removeBucket)
}

func (o *operator) createBucket(ctx context.Context, c *kopf.Change[Bucket]) error {
	bucket, err := kopf.Step(ctx, c, "create-bucket", func(ctx context.Context, key kopf.StepKey) (string, error) {
		return o.cloud.CreateBucket(ctx, string(key), c.Object.Spec.Size)
	})
	if err != nil {
		return err
	}
	_, err = kopf.Step(ctx, c, "grant", func(ctx context.Context, key kopf.StepKey) (string, error) {
		return c.Object.Spec.Reader, o.cloud.Grant(ctx, string(key), bucket, c.Object.Spec.Reader)
	})
	if err != nil {
		return err
	}
	_, err = kopf.StepAtMostOnce(ctx, c, "send-mail", func(ctx context.Context, _ kopf.StepKey) (string, error) {
		return c.Object.Spec.Reader, o.cloud.SendMail(ctx, bucket, c.Object.Spec.Reader)
	})
	if errors.Is(err, kopf.ErrStepUnsure) { // no mail is better than two
		c.Logger.Warn("Perhaps the reader has no mail", "error", err)
	} else if err != nil {
		return err
	}
	c.Patch.Set("status.bucket", bucket)
	return nil
}

// resizeBucket needs neither a key nor a step: a repeated request has no effect.
func (o *operator) resizeBucket(ctx context.Context, c *kopf.FieldChange[string]) error {
	err := o.cloud.Resize(ctx, kopf.GetOr(c.Body, "status.bucket", ""), c.New)
	if errors.Is(err, cloud.ErrNotFound) {
		return kopf.Permanentf("resize: %w", err)
	}
	return err
}

func (o *operator) removeBucket(ctx context.Context, u *kopf.Undo[Bucket, string]) error {
	bucket := u.Result
	if !u.Recorded { // perhaps the operator was killed during the call
		found, ok, err := o.cloud.FindBucket(ctx, string(u.Key))
		if err != nil || !ok {
			return err
		}
		bucket = found
	}
	return o.cloud.RemoveBucket(ctx, bucket) // no error if the bucket does not exist
}

func (o *operator) startCloud(ctx context.Context, a *kopf.Activity) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	o.cloud.URL = "http://" + listener.Addr().String()
	o.own = &http.Server{Handler: &cloud.Server{}, ReadHeaderTimeout: time.Minute}
	a.Logger.Info("the cloud is at " + o.cloud.URL)
	go func() {
		if err := o.own.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.Logger.Error("the cloud has ended", "error", err)
		}
	}()
	return nil
}

func (o *operator) stopCloud(context.Context, *kopf.Activity) error { return o.own.Close() }
