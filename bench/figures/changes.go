package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// writerVariable makes this program the writer, in a separate process that does not disturb the measurement.
const writerVariable = "KOPF_BENCH_WRITER"

// writerConcurrency is the largest number of changes that the writer sends at once. Changes that cannot be sent in
// time are skipped, and missing in its count.
const writerConcurrency = 32

// runWriter changes objects, one after the other, at a rate, until its standard input is closed; then it prints how many.
func runWriter(args []string) error {
	flags := newClusterFlags("writer")
	number := flags.Int("objects", 0, "the number of objects")
	rate := flags.Int("rate", 0, "the number of changes in a second")
	config, err := flags.parse(args)
	if err != nil {
		return err
	}
	client, err := newAPI(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end as well
		stop()
	}()
	changed, err := client.change(ctx, flags.namespace, *number, *rate)
	if err != nil {
		return err
	}
	fmt.Println("changed", changed)
	return nil
}

// change changes objects at a rate until the context ends, and returns how many changes it has made.
func (a *api) change(ctx context.Context, namespace string, number, rate int) (int64, error) {
	const step = 7919 // a prime: neighbors in the list do not change at the same time
	var changed atomic.Int64
	var sending sync.WaitGroup
	failed := make(chan error, 1)
	places := make(chan struct{}, writerConcurrency)
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			sending.Wait()
			return changed.Load(), nil
		case err := <-failed:
			return 0, err
		case <-ticker.C:
		}
		select {
		case places <- struct{}{}:
		default:
			continue
		}
		sending.Go(func() {
			defer func() { <-places }()
			body := fmt.Appendf(nil, `{"spec":{"field":"value-%d"}}`, i)
			_, err := a.do(context.WithoutCancel(ctx), http.MethodPatch, objects(namespace, numberedFully(i*step%number)), mergePatch, body)
			if err == nil {
				changed.Add(1)
				return
			}
			select {
			case failed <- err:
			default:
			}
		})
	}
}
