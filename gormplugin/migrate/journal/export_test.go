package journal

// Began returns when a process began.
var Began = began
