import {
  BackupFault,
  BucketOut,
  BytesElsewhere,
  ClockApart,
  SchemaFault,
  StorageContended,
  StorageForbidden,
  StorageLocked,
  StorageUnreachable,
} from '../../lib/base/faults.ts'

import { Problem } from '../../lib/base/problem.ts'
import { Reply } from '../../lib/base/reply.ts'

const coded = (code: string, message: string, more: object = {}) =>
  Object.assign(new Error(message), { code, ...more })
const ofSystem = (code: string, what: string) =>
  coded(code, `${code}: ${what}, write '/data/a'`, { syscall: 'write', path: '/data/a' })

/** What may be thrown below a door: of every kind that some door tells apart, and of what none knows. */
export const failures: readonly (readonly [what: string, error: unknown])[] = [
  ['a problem', new Problem('not_found', 'There is no such inbox.')],
  ['a problem that passes', new Problem('unavailable')],
  ['a reply', new Reply(550, '5.1.1', 'No such inbox', 'unknown')],
  [
    'a lock that another program keeps',
    new StorageLocked({ cause: coded('SQLITE_BUSY', 'database is locked') }),
  ],
  ['a server that is gone', new StorageUnreachable(coded('ECONNREFUSED', 'connect ECONNREFUSED'))],
  ['a server without room', new StorageUnreachable(coded('53100', 'could not extend file'))],
  ['a server short of something', new StorageUnreachable(coded('53400', 'configuration limit exceeded'))],
  ['another clock', new StorageUnreachable(new ClockApart(90_000))],
  ['a conflict', new StorageContended(coded('40001', 'could not serialize access'), '40001')],
  ['a statement that the server ended', new StorageContended(coded('57014', 'canceling statement'), '57014')],
  ['a file of somebody else', new StorageForbidden('/data is of root: run it as root')],
  ['a database of a newer program', new SchemaFault('a newer mailboxd made this database')],
  ['a bucket that does not answer', new BucketOut('the bucket does not answer')],
  ['bytes on another node', new BytesElsewhere()],
  ['a backup that is damaged', new BackupFault('is not whole')],
  [
    'a backup onto a disk that fails',
    new BackupFault('can not be made', { cause: ofSystem('EIO', 'i/o error') }),
  ],
  ['no room on the disk', ofSystem('ENOSPC', 'no space left on device')],
  ['no room in the quota', ofSystem('EDQUOT', 'quota exceeded')],
  ['no room for SQLite', coded('SQLITE_FULL', 'database or disk is full')],
  ['a disk that fails', ofSystem('EIO', 'i/o error')],
  ['a disk that fails under SQLite', coded('SQLITE_IOERR_FSYNC', 'disk I/O error')],
  ['a disk that may only be read', ofSystem('EROFS', 'read-only file system')],
  ['a damaged database', coded('SQLITE_CORRUPT', 'database disk image is malformed')],
  ['too many files', ofSystem('EMFILE', 'too many open files')],
  [
    'what this user may not',
    coded('EACCES', 'EACCES: permission denied, listen 0.0.0.0:25', { syscall: 'listen' }),
  ],
  ['what is not there', ofSystem('ENOENT', 'no such file or directory')],
  ['a port of another program', coded('EADDRINUSE', 'listen EADDRINUSE: address already in use :::25')],
  ['a fault of ours', new TypeError('x is undefined')],
  ['what is no error', 'a text'],
]
