module github.com/kopf-dev/kopf/sdk

go 1.26.0
