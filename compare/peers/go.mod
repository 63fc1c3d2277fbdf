module github.com/snowkey-go/snowkey/compare/peers

go 1.25.0

require (
	github.com/bwmarrin/snowflake v0.3.0
	github.com/gofrs/uuid/v5 v5.5.1
	github.com/google/uuid v1.6.0
	github.com/oklog/ulid/v2 v2.1.2
	github.com/rs/xid v1.6.0
	github.com/snowkey-go/snowkey v0.0.0
	github.com/sony/sonyflake/v2 v2.2.0
	github.com/sqids/sqids-go v0.4.1
	go.mongodb.org/mongo-driver/v2 v2.10.0
)
