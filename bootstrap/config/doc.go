// Package config reads the file that a worker is given: the schedules that it declares,
// in YAML.
//
//	namespace: shop
//	schedules:
//	  - name: report
//	    cron: "0 7 * * mon-fri"
//	    zone: Europe/Vienna
//	    kind: http
//	    args: {url: "https://example.com/report"}
//
// It is strict: a field that is not known, or there twice, is refused with its line. It
// may import domain and the YAML library, and must not know who uses what it read.
package config
