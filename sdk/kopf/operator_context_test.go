package kopf

import (
	"fmt"
	"testing"
)

func TestRESTConfig_ForeignContextPanicsWithAdvice(t *testing.T) {
	defer func() {
		if got, want := fmt.Sprint(recover()), "kopf.RESTConfig: the context belongs to no operator; pass the context of the handler"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}()
	RESTConfig(t.Context())
}
