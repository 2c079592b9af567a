/** Tests in which chance decides what happens: what one run has found the next need not find, so the first failure counts. */
const byChance =
  /^test\/(fuzz\/|flow\/(crash|database-failover|disk-faults|nodes|power-cuts|restore-cut|rolling-upgrade|soak)|.*property|.*fuzz|queue\/whole-turns)/

/** Whether a failure of this test file may come from other tests that ran beside it; false where it must be believed. */
export function mayBeLoad(file: string): boolean {
  return !byChance.test(file)
}
