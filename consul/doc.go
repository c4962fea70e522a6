// Package consul takes locks in the key/value store of a Consul datacenter.
package consul
