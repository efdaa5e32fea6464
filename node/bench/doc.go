// Package bench measures the built program, each figure beside its floor in the
// same run, as one table. Its one test is the smallest size of all of it;
// docs/speed.md tells how to run the whole.
package bench
