import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getPeer } from './peers.ts'
import { type Finished, runProgram } from './program.ts'

/** What is published: name → the strings of its TXT record, joined. */
export type TxtRecords = Readonly<Record<string, string>>

export interface DkimResult {
  readonly ok: boolean
  /** What the verifier said. */
  readonly said: string
}

/** Verifies the DKIM signatures of a raw message (CRLF) with OpenDKIM, keys from `txt` instead of DNS. */
export function verifyWithOpendkim(raw: Buffer, txt: TxtRecords): Promise<DkimResult> {
  return withFiles({ 'message.eml': raw }, async dir => {
    const records = Object.entries(txt).map(([name, value]) => `${name} ${value}\n`)
    writeFileSync(join(dir, 'txt'), records.join(''))
    writeFileSync(join(dir, 'conf'), `Mode v\nTestDNSData file:${dir}/txt\n`)
    const run = await runProgram(getPeer('opendkim'), [
      '-x',
      join(dir, 'conf'),
      '-t',
      join(dir, 'message.eml'),
    ])
    return result(run, said => / succeeded$/m.test(said))
  })
}

/** Verifies the first DKIM signature of a raw message with dkimpy, keys from `txt` instead of DNS. */
export function verifyWithDkimpy(raw: Buffer, txt: TxtRecords): Promise<DkimResult> {
  return withFiles({ 'message.eml': raw, 'txt.json': JSON.stringify(txt) }, async dir => {
    const run = await runProgram('/usr/bin/python3', ['-c', dkimpy], undefined, { cwd: dir })
    return result(run, said => said.trim() === 'True')
  })
}

/** Verifies the ARC chain of a raw message with dkimpy, keys from `txt` instead of DNS. */
export function verifyArcWithDkimpy(raw: Buffer, txt: TxtRecords): Promise<DkimResult> {
  return withFiles({ 'message.eml': raw, 'txt.json': JSON.stringify(txt) }, async dir => {
    const run = await runProgram('/usr/bin/python3', ['-c', dkimpyArc], undefined, { cwd: dir })
    return result(run, said => said.trim() === 'pass')
  })
}

const dkimpyArc = `
import dkim, json
txt = json.load(open('txt.json'))
def answer(name, timeout=5):
    value = txt.get(name.decode().rstrip('.'))
    return value.encode() if value is not None else None
cv, results, comment = dkim.arc_verify(open('message.eml', 'rb').read(), dnsfunc=answer)
print(cv.decode() if cv else comment)
`

const dkimpy = `
import dkim, json
txt = json.load(open('txt.json'))
def answer(name, timeout=5):
    value = txt.get(name.decode().rstrip('.'))
    return value.encode() if value is not None else None
print(dkim.verify(open('message.eml', 'rb').read(), dnsfunc=answer))
`

function result(run: Finished, says: (said: string) => boolean): DkimResult {
  const said = run.stdout + run.stderr
  return { ok: run.code === 0 && says(said), said }
}

async function withFiles<T>(
  files: Record<string, string | Buffer>,
  work: (dir: string) => Promise<T>,
): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-dkim-'))
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content)
    return await work(dir)
  } finally {
    rmSync(dir, { recursive: true })
  }
}
