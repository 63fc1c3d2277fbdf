module github.com/snowkey-go/snowkey/idgen/grant/zkgrant

go 1.25.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/snowkey-go/snowkey v0.0.0
)
