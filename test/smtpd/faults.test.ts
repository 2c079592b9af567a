import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runProgram } from '../support/program.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** A small file system of its own in a directory, or undefined where this user may not make one. */
async function smallDisk(t: Test, megabytes: number): Promise<string | undefined> {
  const dir = join(temporaryDir(t), 'disk')
  mkdirSync(dir)
  if (process.getuid?.() !== 0) return undefined
  const mounted = await runProgram('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', dir])
  if (mounted.code !== 0) return undefined
  t.teardown(() => runProgram('umount', ['--lazy', dir]))
  return dir
}

const filesIn = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).length
const text = (bytes: number) => `${'x'.repeat(998)}\r\n`.repeat(Math.ceil(bytes / 1000))

const disk = await smallDisk(t, 8)
const skip = disk === undefined && 'may not mount a small disk here'

t.test('the disk is full: 452, nothing kept, and all is well when there is room', { skip }, async t => {
  const door = await openDoor(t, { dataDir: join(disk!, 'data') })
  await door.inbox('ann')
  const send = async (name: string, bytes: number) => {
    const dialog = await greetedDialog(door.port)
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    const reply = await dialog.data(`Subject: ${name}\r\n\r\n${text(bytes)}x`)
    dialog.vanish()
    return reply
  }
  t.match((await send('first', 1000)).text, /^250 /)

  t.match((await send('no room in the spool', 12_000_000)).text, /^452 4\.3\.1 /)
  t.equal(filesIn(join(door.dataDir, 'spool')), 0)
  t.equal((await door.messages()).length, 1)
  t.match((await send('second', 300_000)).text, /^250 /, 'there is room again')

  // Fills the database until it has no room; it says so to whoever comes then, small or large.
  let accepted = 2
  let refused: string[] = []
  for (let count = 0; count < 60 && refused.length < 3; count++) {
    const reply = await send(`filler ${count}`, 200_000)
    if (reply.code === 250) accepted++
    else refused = [...refused, reply.text]
  }
  for (const said of refused) t.match(said, /^452 4\.3\.1 /)
  t.equal(refused.length, 3, 'the disk got full')
  t.equal((await door.messages()).length, accepted, 'what was accepted is there, what was not is not')
  t.equal(filesIn(join(door.dataDir, 'spool')), 0)
  const raws = await door.app.store.read.selectFrom('raw').select(['id', 'content']).execute()
  t.equal(raws.length, accepted)
  t.equal(filesIn(join(door.dataDir, 'raw')), raws.filter(raw => raw.content === null).length)
  const said = door.log.filter(entry => entry.level === 'error')
  t.ok(said.length >= 1, 'it is an error in the log, however many met it')
  t.match(JSON.stringify(said[0]), /ENOSPC/)

  const remounted = await runProgram('mount', ['-o', 'remount,size=64m', disk!])
  t.equal(remounted.code, 0, remounted.stderr)
  t.match((await send('after', 200_000)).text, /^250 /)
  t.match((await send('after, large', 400_000)).text, /^250 /)
  t.equal((await door.messages()).length, accepted + 2)
})

t.test('a database that refuses a write: 451, and no file stays', async t => {
  const door = await openDoor(t)
  await door.inbox('ann')
  await door.app.store.write(async db => {
    const { sql } = await import('kysely')
    await sql`create trigger broken before insert on message begin select raise(abort, 'broken on purpose'); end`.execute(
      db,
    )
  })
  const dialog = await greetedDialog(door.port)
  for (const bytes of [100, 400_000]) {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.match((await dialog.data(`Subject: x\r\n\r\n${text(bytes)}x`)).text, /^451 4\.3\.0 /)
  }
  t.equal((await dialog.say('NOOP')).code, 250, 'the session goes on')
  t.strictSame(await door.messages(), [])
  t.strictSame(await door.app.store.read.selectFrom('thread').select('id').execute(), [])
  t.strictSame(await door.app.store.read.selectFrom('raw').select('id').execute(), [])
  t.equal(filesIn(join(door.dataDir, 'spool')) + filesIn(join(door.dataDir, 'raw')), 0)
  const said = door.log.filter(entry => entry.level === 'error')
  t.equal(said.length, 2, 'each is logged once')
  t.match(JSON.stringify(said[0]), /broken on purpose/)
})

t.test('a spool that can not be written: the rest is read on, 45x, and the session goes on', async t => {
  const door = await openDoor(t)
  await door.inbox('ann')
  const spool = join(door.dataDir, 'spool')
  rmSync(spool, { recursive: true })
  writeFileSync(spool, 'what is no folder')
  const dialog = await greetedDialog(door.port)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  // More than the sockets hold, so that it is not sent unless somebody reads it.
  t.match((await dialog.data(`Subject: x\r\n\r\n${text(20_000_000)}x`)).text, /^45[12] 4\.3\./)
  t.equal((await dialog.say('NOOP')).code, 250)
  rmSync(spool)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.match((await dialog.data(`Subject: x\r\n\r\n${text(400_000)}x`)).text, /^250 /)
  t.equal((await door.messages()).length, 1)
})
