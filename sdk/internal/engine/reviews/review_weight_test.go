package reviews

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

// narrow is a handler that decodes only a small part of the object.
func narrow(call *handlers.Call) error {
	var v struct{ Spec struct{ A int } }
	if err := kjson.UnmarshalCaseSensitivePreserveInts(call.Cause.Object.Raw, &v); err != nil {
		return err
	}
	if call.Cause.Object.Name != "x" {
		return fmt.Errorf("the object is %s", call.Cause.Object)
	}
	return nil
}

// crowd sends concurrent reviews of a size to a webhook server. Their objects are lists of empty maps. It returns the
// peak growth of the used heap in bytes.
func crowd(t testing.TB, r *Reviews, reviews, size int) (most int64) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	announced, ended := make(chan webhook.ClientConfig, 1), make(chan error, 1)
	go func() { ended <- (&webhook.Server{}).Serve(ctx, r, func(c webhook.ClientConfig) { announced <- c }) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	config := <-announced
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(config.CABundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}}
	defer transport.CloseIdleConnections()

	head, tail, _ := strings.Cut(strings.Replace(reviewOf("CREATE", ""), `"a":1`, `"list":[{}|],"a":1`, 1), "|")
	items := strings.Repeat(",{}", 10_000)
	body := func() (io.Reader, int64) {
		list := []io.Reader{strings.NewReader(head)}
		n := len(head) + len(tail)
		for ; n+len(items) < size; n += len(items) {
			list = append(list, strings.NewReader(items))
		}
		return io.MultiReader(append(list, strings.NewReader(tail))...), int64(n)
	}
	ask := func(body io.Reader, length int64) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, config.URL+"/check", body)
		if err != nil {
			return err
		}
		req.ContentLength = length
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		var got answered
		if err := json.Unmarshal(text, &got); err != nil || !got.Response.Allowed {
			return fmt.Errorf("answered %d: %s", resp.StatusCode, text)
		}
		return nil
	}

	before := heapInUse()
	done := make(chan struct{})
	var sampling, wg sync.WaitGroup
	sampling.Go(func() {
		for ticker := time.Tick(2 * time.Millisecond); ; {
			most = max(most, heapInUse()-before)
			select {
			case <-ticker:
			case <-done:
				return
			}
		}
	})
	for range reviews {
		text, length := body()
		wg.Go(func() {
			if err := ask(text, length); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(done)
	sampling.Wait()
	return most
}

// heapInUse returns the bytes of the heap that are in use or garbage.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// Decoded, the objects would need 22 times the memory of their JSON.
func TestReviews_LargeObjectsStayText(t *testing.T) {
	check := doing("check", func(_ context.Context, call *handlers.Call) error { return narrow(call) })
	count, size := 16, 160<<10
	if testing.Short() {
		count = 8
	}
	most := crowd(t, testReviews(t, admissionHandlers(check), kex), count, size)
	t.Logf("%d reviews of %d KiB took %d MiB at most", count, size>>10, most>>20)
	if most > int64(8*count*size) {
		t.Errorf("%d reviews of %d KiB took %d MiB", count, size>>10, most>>20)
	}
}

// BenchmarkReviews_Huge reports the memory for 16 concurrent reviews of 8 MiB.
func BenchmarkReviews_Huge(b *testing.B) {
	var most int64
	for b.Loop() {
		check := doing("check", func(_ context.Context, call *handlers.Call) error { return narrow(call) })
		most = max(most, crowd(b, testReviews(b, admissionHandlers(check), kex), 16, 8<<20))
	}
	b.ReportMetric(float64(most>>20), "MiB-most")
}

func TestReviews_ObjectsThatTakeTooMuchMemoryAreDenied(t *testing.T) {
	ran := 0
	change := doing("change", func(_ context.Context, call *handlers.Call) error {
		ran++
		call.Patch.Set(object.Path{"spec", "a"}, int64(2))
		return nil
	})
	change.Family = handlers.Mutate
	r := testReviews(t, admissionHandlers(change), kex)
	for _, tt := range []struct {
		weight int64
		ran    int
		says   string
	}{
		{maxTrees / treesOfPatch, 1, ""},
		{maxTrees/treesOfPatch + 1, 1, "cannot change the object"},
		{maxTrees + 1, 0, "cannot review the object"},
	} {
		ran = 0
		request, err := admission.Decode([]byte(reviewOf("CREATE", "")))
		if err != nil {
			t.Fatal(err)
		}
		request.HandlerID, request.Weight = "change", tt.weight
		response, err := r.review(t.Context(), &review{request: request})
		if err != nil {
			t.Fatal(err)
		}
		if response.Allowed != (tt.says == "") || !strings.Contains(response.Message, tt.says) || ran != tt.ran {
			t.Errorf("%d bytes: %+v, ran %d times", tt.weight, response, ran)
		}
		if tt.says != "" && response.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%d bytes: the code %d", tt.weight, response.Code)
		}
	}
}

func TestReviews_SmallOnesDoNotWaitForLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var called atomic.Int64
		check := doing("check", func(context.Context, *handlers.Call) error {
			if called.Add(1) == 1 {
				<-release
			}
			return nil
		})
		r := testReviews(t, admissionHandlers(check), kex)
		review := func(weight int64) error {
			request, err := admission.Decode([]byte(reviewOf("CREATE", "")))
			if err != nil {
				return err
			}
			request.HandlerID, request.Weight = "check", weight
			ctx, cancel := context.WithTimeout(t.Context(), maxReviewTime)
			defer cancel()
			_, err = r.review(ctx, &review{request: request})
			return err
		}
		large := make(chan error, 2)
		for range 2 { // one after the other
			go func() { large <- review(maxDecoded) }()
		}
		synctest.Wait()
		if err := review(smallReview); err != nil || called.Load() != 2 {
			t.Errorf("%d calls, %v", called.Load(), err)
		}
		close(release)
		for range 2 {
			if err := <-large; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestReviews_KeptReviewHoldsNoDecodedObject(t *testing.T) {
	var decoded map[string]any
	check := doing("check", func(_ context.Context, call *handlers.Call) (err error) {
		decoded, err = call.Cause.Object.Tree()
		return err
	})
	r := testReviews(t, admissionHandlers(check), kex)
	answerOf(t, ask(t, r, "/check", reviewOf("CREATE", "")))
	again, err := r.history.kept[0].request.Object.Tree()
	if err != nil {
		t.Fatal(err)
	}
	decoded["marked"] = true
	if _, same := again["marked"]; same {
		t.Error("the review keeps the decoded object")
	}
	delete(decoded, "marked")
	if diff := cmp.Diff(decoded, again); diff != "" {
		t.Error(diff)
	}
}
