package journal

// Runner returns the writer's runner.
func (w *Writer) Runner() string { return w.runner }

// Began returns when a process began.
var Began = began
