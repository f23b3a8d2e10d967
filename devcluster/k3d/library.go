package k3d

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/k3d-io/k3d/v5/pkg/logger"
	"github.com/k3d-io/k3d/v5/version"
	"github.com/sirupsen/logrus"
)

// helperVersion is the version of k3d's own images, which would otherwise be the latest.
const helperVersion = "5.9.0"

// library is the log of the k3d library, and keeps its calls apart: it has global state.
var library struct {
	sync.Mutex
	log   func(line string)
	fatal string // the last message after which the library tried to end the process
}

// errFatal is the library's panic value instead of ending the process.
var errFatal = errors.New("k3d gave up")

// redirectLibrary hands the log of the library to a function, and keeps the library from ending
// the process.
func redirectLibrary(log func(line string)) {
	version.HelperVersionOverride = helperVersion
	library.log = log
	logrus.SetOutput(io.Discard) // Docker's libraries use the global logger
	logger.Logger.SetOutput(io.Discard)
	logger.Logger.SetLevel(logrus.InfoLevel)
	logger.Logger.ExitFunc = func(int) { panic(errFatal) }
	hooks := make(logrus.LevelHooks)
	hooks.Add(hook{})
	logger.Logger.ReplaceHooks(hooks)
}

// hook takes the messages of the library's log.
type hook struct{}

// Levels implements [logrus.Hook].
func (hook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements [logrus.Hook].
func (hook) Fire(e *logrus.Entry) error {
	if e.Level <= logrus.FatalLevel {
		library.fatal = e.Message
	}
	if library.log != nil {
		library.log(e.Level.String() + ": " + strings.TrimSpace(e.Message))
	}
	return nil
}

// call calls the library. If the library tries to end the process, call returns an error.
func call(f func() error) (err error) {
	library.Lock()
	defer library.Unlock()
	defer func() {
		if r := recover(); r == any(errFatal) {
			err = fmt.Errorf("%w: %s", errFatal, library.fatal)
		} else if r != nil {
			panic(r)
		}
	}()
	return f()
}
