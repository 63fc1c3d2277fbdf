package compare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// pages is an SQLite file read page by page. The format is that of https://sqlite.org/fileformat2.html.
type pages struct {
	*os.File
	pageSize int64
	most     int64 // pages in the file
}

var errPages = errors.New("the file is not laid out like an SQLite database")

func openPages(path string) (p *pages, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	header := make([]byte, 18)
	if _, err := file.ReadAt(header, 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	pageSize := int64(binary.BigEndian.Uint16(header[16:]))
	if pageSize == 1 {
		pageSize = 65536
	}
	if pageSize < 512 {
		return nil, errors.Join(fmt.Errorf("%w: page size %d", errPages, pageSize), file.Close())
	}
	return &pages{File: file, pageSize: pageSize, most: info.Size() / pageSize}, nil
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
		if _, err := p.ReadAt(page, int64(number-1)*p.pageSize); err != nil {
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
