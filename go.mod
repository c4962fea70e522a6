module github.com/distlock-go/distlock

go 1.26.0
