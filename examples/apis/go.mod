module github.com/snowkey-go/snowkey/examples/apis

go 1.25.0

require (
	github.com/99designs/gqlgen v0.17.78
	github.com/go-playground/validator/v10 v10.27.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	github.com/snowkey-go/snowkey v0.0.0
	go.mongodb.org/mongo-driver/v2 v2.3.1
	google.golang.org/protobuf v1.36.6
)

require (
	github.com/gabriel-vasile/mimetype v1.4.8 // indirect
	github.com/go-playground/locales v0.14.1 // indirect
	github.com/go-playground/universal-translator v0.18.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/jinzhu/now v1.1.5 // indirect
	github.com/leodido/go-urn v1.4.0 // indirect
	github.com/sosodev/duration v1.3.1 // indirect
	github.com/vektah/gqlparser/v2 v2.5.30 // indirect
	golang.org/x/crypto v0.40.0 // indirect
	golang.org/x/net v0.42.0 // indirect
	golang.org/x/sys v0.34.0 // indirect
	golang.org/x/text v0.29.0 // indirect
	gorm.io/gorm v1.31.2 // indirect
)
