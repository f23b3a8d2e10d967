package kopftest

import (
	"encoding/json"
	"maps"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// begin writes the status and the headers of a response.
func begin(w http.ResponseWriter, resp *http.Response, whole bool) {
	maps.Copy(w.Header(), resp.Header)
	for _, hop := range []string{"Connection", "Keep-Alive", "Transfer-Encoding"} {
		w.Header().Del(hop)
	}
	if !whole {
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(resp.StatusCode)
	if !whole {
		flush(w)
	}
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() } // an error means that the client disconnected

// flushing flushes after each write.
type flushing struct{ http.ResponseWriter }

// Write implements [io.Writer].
func (f flushing) Write(data []byte) (int, error) {
	n, err := f.ResponseWriter.Write(data)
	flush(f.ResponseWriter)
	return n, err
}

func isJSON(resp *http.Response) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// reasons are the API server's reasons by status.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:            metav1.StatusReasonBadRequest,
	http.StatusUnauthorized:          metav1.StatusReasonUnauthorized,
	http.StatusForbidden:             metav1.StatusReasonForbidden,
	http.StatusNotFound:              metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed:      metav1.StatusReasonMethodNotAllowed,
	http.StatusConflict:              metav1.StatusReasonConflict,
	http.StatusGone:                  metav1.StatusReasonExpired,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:       metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:    metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:        metav1.StatusReasonTimeout,
}

// statusOf returns the body of a [FaultStatus] response, in the API server's format.
func statusOf(fault Fault) []byte {
	code := fault.code()
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Message: "injected fault: " + http.StatusText(code),
		Reason: reasons[code], Code: int32(code), //nolint:gosec // it has three digits
		Details: &metav1.StatusDetails{RetryAfterSeconds: seconds(fault.RetryAfter)},
	}
	if fault.Field != "" {
		status.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: fault.Field, Message: "injected fault: invalid value"}}
	}
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // impossible, because the values are strings and numbers
	}
	return append(body, '\n')
}

func seconds(d time.Duration) int32 { return int32(math.Ceil(d.Seconds())) }

func writeStatus(w http.ResponseWriter, fault Fault) {
	w.Header().Set("Content-Type", "application/json")
	if fault.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds(fault.RetryAfter))))
	}
	w.WriteHeader(fault.code())
	_, _ = w.Write(statusOf(fault)) // an error means that the client disconnected
}

// writeGarbage responds like a gateway whose server is unreachable.
func writeGarbage(w http.ResponseWriter, fault Fault) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(fault.code())
	_, _ = w.Write([]byte("<html><body>injected fault: " + strings.Repeat("not what you asked for ", 10) + "</body></html>\n")) // an error means that the client disconnected
}

// abort closes the connection of a request.
func abort() { panic(http.ErrAbortHandler) }
