package caldera

/*
#include <caldera.h>

// Exported by Go, which has no const: the cast puts it back.
void calderaGoLog(caldera_log_level level, char *text, void *user);

static void log_to_go(int on) {
    caldera_set_log_callback(on ? (caldera_log_callback)calderaGoLog : NULL, NULL);
}
*/
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// LogLevel says how much a log line matters.
type LogLevel uint32

// The levels.
const (
	LogError   LogLevel = C.CALDERA_LOG_ERROR
	LogWarning LogLevel = C.CALDERA_LOG_WARNING
	LogInfo    LogLevel = C.CALDERA_LOG_INFO
	LogDebug   LogLevel = C.CALDERA_LOG_DEBUG
)

// logger holds a func(LogLevel, string).
var logger atomic.Value

// SetLog sends the log lines of the library to a function from now on; nil, the default, turns the log off. It is called from any thread, also at the
// same time, and must not call this package.
func SetLog(log func(level LogLevel, text string)) {
	if log == nil {
		C.log_to_go(0)
		return
	}
	logger.Store(log)
	C.log_to_go(1)
}

//export calderaGoLog
func calderaGoLog(level C.caldera_log_level, text *C.char, _ unsafe.Pointer) {
	if log, set := logger.Load().(func(LogLevel, string)); set {
		log(LogLevel(level), C.GoString(text))
	}
}
