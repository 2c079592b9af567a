import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import t from 'tap'
import {
  DataDirectoryBusy,
  isDataDirectoryLocked,
  lockDataDirectory,
} from '../../../lib/store/dialect/lock.ts'

const script = `
  import { lockDataDirectory } from ${JSON.stringify(new URL('../../../lib/store/dialect/lock.ts', import.meta.url).href)}
  globalThis.release = lockDataDirectory(process.argv[1])
  console.log('locked')
  setInterval(() => {}, 1000)
`

t.test('one process holds a data directory, and a killed one lets go', async t => {
  const path = `${t.testdir({})}/daemon.lock`
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  t.throws(() => lockDataDirectory(path), DataDirectoryBusy)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const release = lockDataDirectory(path)
  t.throws(() => lockDataDirectory(path), DataDirectoryBusy)
  release()
  lockDataDirectory(path)()
})

t.test('who holds a data directory keeps it when somebody removes the lock file', async t => {
  const path = `${t.testdir({})}/daemon.lock`
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  rmSync(path)
  for (const attempt of ['first', 'second']) {
    t.ok(isDataDirectoryLocked(path), attempt)
    t.throws(() => lockDataDirectory(path), {
      name: 'DataDirectoryBusy',
      message: new RegExp(`process ${holder.pid}`),
    })
  }
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  t.notOk(isDataDirectoryLocked(path))
  lockDataDirectory(path)()
})
