module github.com/kopf-dev/kopf/examples

go 1.26.0

require github.com/kopf-dev/kopf/sdk v0.1.0
