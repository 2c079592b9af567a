import t from 'tap'
import {
  BlobsFault,
  BucketOut,
  isMachineFault,
  StorageContended,
  StorageUnreachable,
  tellSystemFault,
} from '../../lib/base/faults.ts'

const fault = (code: string, message: string) => Object.assign(new Error(message), { code })

t.test('what the system and SQLite say is told with what to do', async t => {
  t.equal(
    tellSystemFault(fault('EACCES', "EACCES: permission denied, mkdir '/var/lib/mailboxd'")),
    "permission denied, mkdir '/var/lib/mailboxd' (EACCES): this user may not: run it as root, or as the user that mailboxd runs as",
  )
  t.equal(
    tellSystemFault(fault('EADDRINUSE', 'listen EADDRINUSE: address already in use :::25')),
    'address already in use :::25 (EADDRINUSE): end that program, or give mailboxd another port',
  )
  for (const code of ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'])
    t.match(tellSystemFault(fault(code, 'x')), /the disk is full/)
  for (const code of ['SQLITE_CORRUPT_INDEX', 'SQLITE_NOTADB'])
    t.match(tellSystemFault(fault(code, 'x')), /the database is damaged/)
  t.match(tellSystemFault(fault('SQLITE_READONLY_DIRECTORY', 'x')), /may only be read/)
  t.match(tellSystemFault(fault('SQLITE_IOERR_FSYNC', 'x')), /the disk fails/)
})

t.test('what is a credential of a unit that does not run is told as that', async t => {
  const path = '/run/credentials/none.service/postgres'
  t.equal(
    tellSystemFault(Object.assign(fault('ENOENT', 'x'), { path })),
    `${path} is there while the unit runs alone (a credential of systemd): start mailboxd, or name a file that stays`,
  )
  t.equal(
    tellSystemFault(Object.assign(fault('ENOENT', "ENOENT: none, open '/none'"), { path: '/none' })),
    "none, open '/none' (ENOENT): it is not there: look at how it is written",
  )
})

t.test('a server of the database, or a bucket, that can not be asked is a fault of the machine', async t => {
  t.ok(isMachineFault(new StorageUnreachable(fault('ECONNREFUSED', 'x'))))
  t.ok(isMachineFault(StorageContended.of(fault('40001', 'x'))))
  t.ok(isMachineFault(new BucketOut('x')))
  t.notOk(isMachineFault(new BlobsFault('what is in there is another')))
  const lowPort = Object.assign(fault('EACCES', 'listen EACCES: permission denied 0.0.0.0:25'), {
    syscall: 'listen',
  })
  t.match(tellSystemFault(lowPort), /ip_unprivileged_port_start=25/)
  t.notOk(isMachineFault(fault('EACCES', 'x')))
})

t.test('what may be a fault of ours keeps its stack', async t => {
  for (const error of [
    new TypeError('x'),
    fault('SQLITE_CONSTRAINT_UNIQUE', 'x'),
    fault('ERR_INVALID_ARG_TYPE', 'x'),
    'x',
  ])
    t.equal(tellSystemFault(error), undefined)
})
