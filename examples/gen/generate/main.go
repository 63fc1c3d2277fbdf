// Command generate makes package query from package model, with gorm.io/gen, in the folder that it is given.
package main

import (
	"os"

	"gorm.io/gen"

	"github.com/snowkey-go/snowkey/examples/gen/model"
)

func main() {
	g := gen.NewGenerator(gen.Config{OutPath: os.Args[1]})
	g.ApplyBasic(model.Author{}, model.Book{})
	g.Execute()
}
