package watch

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestRun_ListsThenStreams(t *testing.T) {
	follow(t, Options{Namespace: "ns"}, func(w *watched) {
		e := w.next()
		if e.URL.Path != "/apis/kopf.dev/v1/namespaces/ns/kopfexamples" || !e.streamedList() || e.URL.Query().Has("timeoutSeconds") || e.URL.Query().Has("resourceVersion") {
			t.Error(e.URL)
		}
		c := e.stream(t)
		c.send("ADDED", rawObject("a", "5"))
		w.expect() // not before all are known
		c.listed("10")
		w.expect(" a@5")
		if !slices.Equal(w.lists, []int{1}) {
			t.Error(w.lists)
		}
		c.send("ADDED", rawObject("b", "11"))
		c.send("MODIFIED", rawObject("a", "12"))
		c.send("DELETED", rawObject("b", "13"))
		w.expect("ADDED b@11", "MODIFIED a@12", "DELETED b@13")
		w.undisturbed()
	})
}

func TestRun_ServerWithoutStreamedListsGetsOrdinaryOnes(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		w.next().respond(422, status(422, "Invalid"))
		e := w.next()
		if e.URL.Query().Has("watch") || e.URL.Path != "/apis/kopf.dev/v1/kopfexamples" {
			t.Error(e.URL)
		}
		if e.URL.Query().Has("resourceVersion") || e.URL.Query().Has("limit") {
			t.Errorf("the list can be of any age, or has several pages: %s", e.URL)
		}
		e.respond(200, `{"metadata":{"resourceVersion":"10"},"items":[`+rawObject("a", "5")+`,`+rawObject("b", "6")+`]}`)
		e = w.next()
		if e.version() != "10" || e.streamedList() {
			t.Error(e.URL)
		}
		c := e.stream(t)
		c.send("MODIFIED", rawObject("a", "11"))
		w.expect(" a@5", " b@6", "MODIFIED a@11")
		w.undisturbed()
	})
}

func TestRun_ReducesAllObjects(t *testing.T) {
	var reduced []string
	reduce := func(o *object.Object) { reduced = append(reduced, o.Name) }
	for _, streamed := range []bool{true, false} {
		reduced = nil
		follow(t, Options{Reduce: reduce}, func(w *watched) {
			var c *connection
			if streamed {
				c = w.next().stream(t)
				c.send("ADDED", rawObject("a", "5"))
				c.listed("10")
			} else {
				w.next().respond(422, status(422, "Invalid"))
				w.next().respond(200, `{"metadata":{"resourceVersion":"10"},"items":[`+rawObject("a", "5")+`]}`)
				c = w.next().stream(t)
			}
			c.send("MODIFIED", rawObject("b", "11"))
			w.expect(" a@5", "MODIFIED b@11")
			if !slices.Contains(reduced, "a") || !slices.Contains(reduced, "b") {
				t.Error(streamed, reduced)
			}
			w.undisturbed()
		})
	}
}

func TestRun_ExpiredVersionLeadsToARelistWithDeletions(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		c := w.start()
		c.send("ADDED", rawObject("b", "11"))
		w.expect("ADDED b@11")
		c.send("ERROR", status(410, "Expired"))
		r := w.interrupted(Expired)
		if !apierrors.IsResourceExpired(r.Err) || r.Delay < DefaultReconnectBackoff || r.Delay > 2*DefaultReconnectBackoff {
			t.Errorf("%+v", r)
		}
		e := w.next()
		if !e.streamedList() {
			t.Error(e.URL)
		}
		c = e.stream(t)
		c.listed("20", rawObject("b", "15"), rawObject("c", "16"))
		w.expect("DELETED a@20", " b@15", " c@16")
		if !slices.Equal(w.lists, []int{1, 2}) {
			t.Error(w.lists)
		}
		time.Sleep(time.Second)
		c.end()
		if e := w.next(); e.streamedList() || e.version() != "20" {
			t.Error(e.URL)
		}
	})
}

func TestRun_VersionRejectedAtTheOpeningLeadsToARelist(t *testing.T) {
	tooLarge := `{"kind":"Status","status":"Failure","reason":"Timeout","code":504,"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}`
	for name, refusal := range map[string]struct {
		code    int
		body    string
		version string // resourceVersion of the object in the following list
	}{"too old": {410, status(410, "Expired"), "11"}, "too new": {504, tooLarge, "2"}} {
		t.Run(name, func(t *testing.T) {
			follow(t, Options{}, func(w *watched) {
				w.start().end()
				w.next().respond(refusal.code, refusal.body)
				w.next().respond(refusal.code, refusal.body) // the request for the list has the version too
				e := w.next()
				if !e.streamedList() || e.version() != "" {
					t.Error(e.URL)
				}
				e.stream(t).listed(refusal.version, rawObject("a", refusal.version))
				w.expect(" a@" + refusal.version)
			})
		})
	}
}

func TestRun_RegularEndContinuesFromTheLastVersion(t *testing.T) {
	follow(t, Options{ServerTimeout: 5 * time.Minute}, func(w *watched) {
		c := w.start()
		time.Sleep(time.Minute)
		c.bookmark("42")
		c.end()
		if r := w.interrupted(Closed); r.Err != nil || r.Delay != DefaultReconnectBackoff || r.Attempt != 0 {
			t.Errorf("%+v", r)
		}
		begin := time.Now()
		e := w.next()
		if time.Since(begin) != DefaultReconnectBackoff || e.version() != "42" || e.streamedList() || e.URL.Query().Get("timeoutSeconds") != "300" {
			t.Error(e.URL, time.Since(begin))
		}
	})
}

func TestRun_BrokenConnectionContinuesFromTheLastVersion(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		c := w.start()
		c.send("MODIFIED", rawObject("a", "11"))
		c.drop(syscall.ECONNRESET)
		if r := w.interrupted(Dropped); !errors.Is(r.Err, syscall.ECONNRESET) {
			t.Errorf("%+v", r)
		}
		if e := w.next(); e.version() != "11" || e.streamedList() {
			t.Error(e.URL)
		}
	})
}

func TestRun_InactiveStreamIsReopened(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		c := w.start()
		time.Sleep(68 * time.Second)
		c.bookmark("11") // as the server does about every minute
		time.Sleep(69 * time.Second)
		w.undisturbed()
		time.Sleep(time.Second)
		w.interrupted(Silent)
		if e := w.next(); e.version() != "11" || e.streamedList() {
			t.Error(e.URL)
		}
	})
}

func TestRun_SlowHandlerIsNotInactivity(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		c := w.start()
		w.pause = time.Hour
		sent := make(chan struct{})
		go func() {
			c.send("MODIFIED", rawObject("a", "11"))
			c.send("MODIFIED", rawObject("a", "12"))
			c.send("MODIFIED", rawObject("a", "13"))
			close(sent)
		}()
		<-sent
		time.Sleep(4 * time.Hour)
		w.expect("MODIFIED a@11", "MODIFIED a@12", "MODIFIED a@13")
	})
}

func TestRun_InactivityTimeoutCanBeDisabled(t *testing.T) {
	follow(t, Options{InactivityTimeout: -1}, func(w *watched) {
		w.start()
		time.Sleep(12 * time.Hour)
		w.undisturbed()
	})
}

func TestRun_ClientTimeoutLimitsTheAgeOfAStream(t *testing.T) {
	follow(t, Options{ClientTimeout: 30 * time.Second}, func(w *watched) {
		w.start()
		time.Sleep(29 * time.Second)
		w.interrupted(ClientTimeout)
		if e := w.next(); e.version() != "10" {
			t.Error(e.URL)
		}
	})
}

func TestRun_APIServerRestartNeedsNoRelist(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		w.start().drop(syscall.ECONNRESET)
		w.interrupted(Dropped)
		var last time.Duration
		for attempt := 1; attempt <= 12; attempt++ {
			e := w.next()
			if e.version() != "10" || e.streamedList() {
				t.Error(e.URL)
			}
			if attempt%2 == 0 {
				e.respond(503, "starting")
			} else {
				e.refuse()
			}
			r := w.interrupted(Unavailable)
			if r.Attempt != attempt || r.Delay < last/2 || r.Delay > maxBackoff*11/10 {
				t.Errorf("%+v after %s", r, last)
			}
			last = r.Delay
		}
		if last < maxBackoff {
			t.Error(last)
		}
		c := w.next().stream(t)
		c.send("MODIFIED", rawObject("a", "11"))
		w.expect("MODIFIED a@11")
		c.end()
		if r := w.interrupted(Closed); r.Delay != DefaultReconnectBackoff {
			t.Errorf("%+v", r)
		}
	})
}

func TestRun_RetryAfterDelaysTheNextAttempt(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		w.next().respond(429, "", "Retry-After", "30")
		if r := w.interrupted(Throttled); r.Delay != 30*time.Second {
			t.Errorf("%+v", r)
		}
		begin := time.Now()
		c := w.next().stream(t)
		if time.Since(begin) != 30*time.Second {
			t.Error(time.Since(begin))
		}
		c.listed("10")
		w.expect()
		c.send("ERROR", status(429, "TooManyRequests"))
		w.interrupted(Throttled)
		if e := w.next(); e.version() != "10" || e.streamedList() {
			t.Error(e.URL)
		}
	})
}

func TestRun_PermanentFailuresAreReportedAndRetriedWithBackoff(t *testing.T) {
	for code, reason := range map[int]Reason{403: Forbidden, 404: NotFound, 405: Rejected} {
		t.Run(string(reason), func(t *testing.T) {
			follow(t, Options{}, func(w *watched) {
				begin, requests := time.Now(), 0
				for time.Since(begin) < time.Hour {
					w.next().respond(code, "") // the streamed list, quietly followed by an ordinary one
					w.undisturbed()
					w.next().respond(code, "")
					requests += 2
					w.interrupted(reason)
				}
				if requests > 800 || requests < 600 {
					t.Errorf("%d requests in an hour", requests)
				}
				w.next().stream(t).listed("10", rawObject("a", "5"))
				w.expect(" a@5")
			})
		})
	}
}

func TestRun_ForbiddenWatchIsReportedAfterAnAllowedList(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		last := time.Duration(0)
		for range 5 {
			w.next().respond(403, "")
			w.next().respond(200, `{"metadata":{"resourceVersion":"10"},"items":[`+rawObject("a", "5")+`]}`)
			w.next().respond(403, "")
			r := w.interrupted(Forbidden)
			if r.Delay <= last {
				t.Error("no growing delay", r)
			}
			last = r.Delay
			w.expect(" a@5")
		}
	})
}

func TestRun_FailingStreamedListsFallBackToOrdinaryOnes(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		for range streamedListTries {
			w.next().respond(500, "")
			w.interrupted(Unavailable)
		}
		w.next().respond(200, `{"metadata":{"resourceVersion":"10"},"items":[]}`)
		if e := w.next(); e.version() != "10" || e.streamedList() {
			t.Error(e.URL)
		}
	})
}

func TestRun_UnauthorizedIsReportedAndRetried(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		w.start().end()
		w.interrupted(Closed)
		w.next().respond(401, "")
		w.interrupted(Unauthorized)
		if e := w.next(); e.version() != "10" {
			t.Error(e.URL)
		}
	})
}

func TestRun_ListIsRetriedAfterServerErrors(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		w.next().respond(400, "")
		w.next().respond(503, "")
		w.interrupted(Unavailable)
		w.next().respond(200, `{"metadata":{"resourceVersion":"10"},"items":[]}`)
		w.next().stream(t)
		w.undisturbed()
	})
}

func TestRun_InvalidStatusDropsTheStream(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		w.start().send("ERROR", `"?"`)
		w.interrupted(Dropped)
	})
}

func TestRun_DamagedStreamLeadsToARelist(t *testing.T) {
	for name, text := range map[string]string{
		"no object":      `{"type":"MODIFIED","object":17}`,
		"half a line":    `{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"11"},"spec":{"field":`,
		"an empty line":  ``,
		"no type":        `{"object":` + rawObject("a", "11") + `}`,
		"unknown type":   `{"type":"MODIFIE","object":` + rawObject("a", "11") + `}`,
		"no identity":    `{"type":"MODIFIED","object":{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"resourceVersion":"11"}}}`,
		"two in a line":  `{"type":"ADDED","object":` + rawObject("b", "11") + `}{"type":"ADDED","object":` + rawObject("c", "12") + `}`,
		"not even JSON":  `<html>502 Bad Gateway</html>`,
		"empty metadata": `{"type":"DELETED","object":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			follow(t, Options{}, func(w *watched) {
				c := w.start()
				go fmt.Fprintf(c.w, "%s\n"+`{"type":"ADDED","object":%s}`+"\n", text, rawObject("d", "13"))
				if r := w.interrupted(Damaged); !errors.Is(r.Err, kube.ErrDamaged) {
					t.Error(r.Err)
				}
				w.expect()
				e := w.next()
				if !e.streamedList() {
					t.Fatal(e.URL)
				}
				e.stream(t).listed("20", rawObject("b", "11"), rawObject("d", "13"))
				w.expect("DELETED a@20", " b@11", " d@13")
				w.undisturbed()
			})
		})
	}
}

func TestRun_ListWithNamelessObjectIsRepeated(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		w.next().respond(400, "")
		w.next().respond(200, `{"metadata":{"resourceVersion":"10"},"items":[{"metadata":{}}]}`)
		w.interrupted(Damaged)
		w.expect()
		w.next().respond(400, "")
		w.next().respond(200, `{"metadata":{"resourceVersion":"10"},"items":[`+rawObject("a", "5")+`]}`)
		w.next().stream(t)
		w.expect(" a@5")
	})
}

func TestRun_TricklingStreamIsNotSilent(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		c := w.start()
		for _, b := range []byte(`{"type":"MODIFIED","object":` + rawObject("a", "11") + "}\n") {
			time.Sleep(time.Minute)
			if _, err := c.w.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
		}
		w.expect("MODIFIED a@11")
		w.undisturbed()
		if _, err := c.w.Write([]byte(`{"type":`)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(70 * time.Second)
		w.interrupted(Silent)
		if e := w.next(); e.version() != "11" || e.streamedList() {
			t.Error(e.URL)
		}
	})
}

func TestRun_RequestsWithoutAnAnswerAreGivenUp(t *testing.T) {
	follow(t, Options{}, func(w *watched) {
		w.next() // the streamed list
		time.Sleep(answerTimeout)
		w.interrupted(Unavailable)
		w.next().respond(400, "")
		for _, patience := range []time.Duration{answerTimeout, 2 * answerTimeout, 4 * answerTimeout} {
			w.next() // a list, which can take the server long
			time.Sleep(patience - time.Second)
			w.undisturbed()
			time.Sleep(time.Second)
			w.interrupted(Unavailable)
		}
	})
}

func TestRun_StopsAtOnceInEveryState(t *testing.T) {
	for name, until := range map[string]func(*watched){
		"before the first answer": func(w *watched) { w.next() },
		"in a streamed list":      func(w *watched) { w.next().stream(t).send("ADDED", rawObject("a", "5")) },
		"in a list":               func(w *watched) { w.next().respond(http.StatusBadRequest, ""); w.next() },
		"in a stream":             func(w *watched) { w.start() },
		"in a delay":              func(w *watched) { w.next().respond(429, "", "Retry-After", "3600"); w.interrupted(Throttled) },
	} {
		t.Run(name, func(t *testing.T) { follow(t, Options{}, until) })
	}
}
