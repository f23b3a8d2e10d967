package engine

import (
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Config configures an operator.
type Config struct {
	Registry   *handlers.Registry
	Settings   func() core.Settings // called again after the startup handlers, which may change them
	Namespaces []string             // patterns; none for the whole cluster
	REST       *rest.Config         // how to connect to the cluster; nil if there are logins
	Logins     []*handlers.Handler
	Logger     *slog.Logger
	Dev        bool          // in development: say which operators act beside this one
	Identity   string        // among other operators
	HandOver   func() bool   // whether the record in the peering stays for the operator's next process; nil if it never does
	Inspector  string        // the address of the inspector; none if empty
	Traffic    bool          // log each request to the cluster
	OnReady    func()        // called once all objects are being watched
	OnLogins   func(*Logins) // called once at the beginning; required unless there is REST
	Memo       any           // shared by the operator's own handlers
	NewMemo    func() any    // makes what the handlers of an object share
	Extra      any           // for the operator's own handlers
	Exit       func()        // ends the process if it does not end on its own; optional

	Now func() time.Time // the clock of records and delays; time.Now if nil
}
