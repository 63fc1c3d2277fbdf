module github.com/snowkey-go/snowkey/compare/peers

go 1.25.0

require (
	github.com/bwmarrin/snowflake v0.3.0
	github.com/google/uuid v1.6.0
	github.com/rs/xid v1.6.0
	github.com/snowkey-go/snowkey v0.0.0
	github.com/sony/sonyflake/v2 v2.2.0
)
