package compare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
)

// pages is an SQLite file read page by page. The format is that of https://sqlite.org/fileformat2.html.
type pages struct {
	file     *os.File
	pageSize int64
	most     int64 // pages in the file
}

var errPages = errors.New("the file is not laid out like an SQLite database")

// opened holds the files that were read, and keeps them open until the process ends: on POSIX systems closing one releases every lock
// that the process has on the file, those of its SQLite connections included, and the changes of another program can be lost then.
var opened struct {
	sync.Mutex
	files []*os.File
}

func openFile(path string) (*os.File, error) {
	opened.Lock()
	defer opened.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	for _, file := range opened.files {
		if was, err := file.Stat(); err == nil && os.SameFile(info, was) {
			return file, nil
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	opened.files = append(opened.files, file)
	return file, nil
}

func openPages(path string) (p *pages, err error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	header := make([]byte, 18)
	if _, err := file.ReadAt(header, 0); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	pageSize := int64(binary.BigEndian.Uint16(header[16:]))
	if pageSize == 1 {
		pageSize = 65536
	}
	if pageSize < 512 {
		return nil, fmt.Errorf("%w: page size %d", errPages, pageSize)
	}
	return &pages{file: file, pageSize: pageSize, most: info.Size() / pageSize}, nil
}

// The types of b-tree pages.
const (
	interiorIndex = 2
	interiorTable = 5
	leafIndex     = 10
	leafTable     = 13
)

// count returns the number of pages of a b-tree. Overflow pages are not counted: rows of orders have none.
func (p *pages) count(root uint32) (int64, error) {
	page := make([]byte, p.pageSize)
	stack, n := []uint32{root}, int64(0)
	for len(stack) > 0 {
		number := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n++
		if number == 0 || int64(number) > p.most || n > p.most {
			return 0, fmt.Errorf("%w: page %d of %d", errPages, number, p.most)
		}
		if _, err := p.file.ReadAt(page, int64(number-1)*p.pageSize); err != nil {
			return 0, err
		}
		header := page
		if number == 1 {
			header = page[100:] // after the header of the file
		}
		switch header[0] {
		case leafIndex, leafTable:
		case interiorIndex, interiorTable:
			stack = append(stack, binary.BigEndian.Uint32(header[8:])) // the rightmost child
			for i := range int(binary.BigEndian.Uint16(header[3:])) {
				at := 12 + 2*i
				if at+2 > len(header) {
					return 0, fmt.Errorf("%w: page %d", errPages, number)
				}
				cell := int(binary.BigEndian.Uint16(header[at:]))
				if cell+4 > len(page) {
					return 0, fmt.Errorf("%w: page %d", errPages, number)
				}
				stack = append(stack, binary.BigEndian.Uint32(page[cell:])) // a cell begins with its left child
			}
		default:
			return 0, fmt.Errorf("%w: page %d has the type %d", errPages, number, header[0])
		}
	}
	return n, nil
}
