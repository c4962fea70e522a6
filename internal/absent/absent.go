// Package absent knows arguments that were not given.
package absent

import "reflect"

// Is reports whether v is nil, or a nil pointer in an interface: the client that a
// constructor returned beside an error which nobody looked at.
func Is(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.Kind() == reflect.Pointer && r.IsNil()
}
