package main

import (
	"testing"
)

func TestParseRequests_CountsByVerb(t *testing.T) {
	got, err := parseRequests(`# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="kopfexamples",subresource="",verb="PATCH"} 7
apiserver_request_total{code="200",resource="kopfexamples",subresource="status",verb="PATCH"} 5
apiserver_request_total{code="201",resource="kopfexamples",subresource="",verb="POST"} 3
apiserver_request_total{code="200",resource="pods",subresource="",verb="PATCH"} 100
`, "kopfexamples")
	if err != nil || got["PATCH"] != 12 || got["POST"] != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestParallel_StopsAtFirstFailure(t *testing.T) {
	calls := 0
	err := parallel(100, 1, func(i int) error {
		calls++
		if i == 2 {
			return errTest
		}
		return nil
	})
	if err == nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

type testError string

func (e testError) Error() string { return string(e) }

const errTest = testError("refused")
