package sock

// InheritedVariables returns nothing: Windows passes no sockets on.
func InheritedVariables() []string { return nil }

// Inherited returns nil: Windows passes no sockets on.
func Inherited(func(string) string, int, Options) (*Listener, error) { return nil, nil }
