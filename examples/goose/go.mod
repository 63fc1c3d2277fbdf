module github.com/snowkey-go/snowkey/examples/goose

go 1.25.0

require (
	github.com/mattn/go-sqlite3 v1.14.52
	github.com/pressly/goose/v3 v3.26.0
	github.com/snowkey-go/snowkey v0.0.0
	gorm.io/driver/sqlite v1.6.0
	gorm.io/gorm v1.31.2
)

require (
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/jinzhu/now v1.1.5 // indirect
	github.com/mfridman/interpolate v0.0.2 // indirect
	github.com/sethvargo/go-retry v0.3.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)
