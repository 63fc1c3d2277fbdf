//go:build linux || darwin

package run

import "syscall"

// free returns how many bytes a user may still write to a folder's file system. It is not known when the folder is not there, or hidden.
func free(folder string) (bytes uint64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}
