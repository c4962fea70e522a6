// Package zookeeper takes locks on a ZooKeeper ensemble. Import it as zklock.
package zookeeper
