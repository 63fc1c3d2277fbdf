package database

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
	usable   int64 // bytes of a page that are not reserved for extensions
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

func openPages(path string) (*pages, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	header := make([]byte, 21)
	if _, err := file.ReadAt(header, 0); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint16(header[16:]))
	if size == 1 {
		size = 65536
	}
	p := &pages{file: file, pageSize: size, usable: size - int64(header[20])}
	if size < 512 || p.usable < 480 {
		return nil, fmt.Errorf("%w: pages of %d bytes of which %d are reserved", errPages, size, header[20])
	}
	p.most = info.Size() / size
	return p, nil
}

// The types of b-tree pages.
const (
	interiorIndex = 2
	interiorTable = 5
	leafIndex     = 10
	leafTable     = 13
)

// counted is what is known of a b-tree: its pages, and of its leaf pages the bytes that cells and the pointers to them could have and have.
// Overflow pages are not counted: rows of orders have none.
type counted struct{ pages, room, used int64 }

// count counts the pages of a b-tree.
func (p *pages) count(root uint32) (c counted, err error) {
	page := make([]byte, p.pageSize)
	stack := []uint32{root}
	for len(stack) > 0 {
		number := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		c.pages++
		if number == 0 || int64(number) > p.most || c.pages > p.most {
			return counted{}, fmt.Errorf("%w: page %d of %d", errPages, number, p.most)
		}
		if _, err := p.file.ReadAt(page, int64(number-1)*p.pageSize); err != nil {
			return counted{}, err
		}
		start := 0
		if number == 1 {
			start = 100 // after the header of the file
		}
		switch page[start] {
		case leafIndex, leafTable:
			room, free, ok := p.leaf(page, start)
			if !ok {
				return counted{}, fmt.Errorf("%w: the free blocks of page %d", errPages, number)
			}
			c.room += room
			c.used += room - free
		case interiorIndex, interiorTable:
			children, ok := p.children(page, start)
			if !ok {
				return counted{}, fmt.Errorf("%w: page %d", errPages, number)
			}
			stack = append(stack, children...)
		default:
			return counted{}, fmt.Errorf("%w: page %d has the type %d", errPages, number, page[start])
		}
	}
	return c, nil
}

// children are the pages that an interior page points to.
func (p *pages) children(page []byte, start int) ([]uint32, bool) {
	children := []uint32{binary.BigEndian.Uint32(page[start+8:])} // the rightmost
	for i := range int(binary.BigEndian.Uint16(page[start+3:])) {
		at := start + 12 + 2*i
		if at+2 > len(page) {
			return nil, false
		}
		cell := int(binary.BigEndian.Uint16(page[at:]))
		if cell+4 > len(page) {
			return nil, false
		}
		children = append(children, binary.BigEndian.Uint32(page[cell:])) // a cell begins with its left child
	}
	return children, true
}

// leaf returns the bytes of a leaf page behind its header, and how many of them are free: those between the cell pointers and the cells, the
// free blocks among the cells, and the fragments too small for a block.
func (p *pages) leaf(page []byte, start int) (room, free int64, ok bool) {
	const header = 8
	room = p.usable - int64(start) - header
	content := int64(binary.BigEndian.Uint16(page[start+5:]))
	if content == 0 {
		content = 65536
	}
	pointers := int64(start) + header + 2*int64(binary.BigEndian.Uint16(page[start+3:]))
	if content < pointers || content > p.usable {
		return 0, 0, false
	}
	free = content - pointers + int64(page[start+7])
	for at := int64(binary.BigEndian.Uint16(page[start+1:])); at != 0; {
		// Blocks follow each other in the order of their places, so that the chain ends.
		if at < content || at+4 > p.usable {
			return 0, 0, false
		}
		next, size := int64(binary.BigEndian.Uint16(page[at:])), int64(binary.BigEndian.Uint16(page[at+2:]))
		if size < 4 || at+size > p.usable || next != 0 && next < at+size {
			return 0, 0, false
		}
		free += size
		at = next
	}
	return room, free, free <= room
}
