import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createThreadMark } from '../../lib/base/threads.ts'
import { createNearReader, nearTextBytes } from '../../lib/reading/near.ts'
import type { Reading, ReadingRequest } from '../../lib/reading/reading.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const bytes = Buffer.from('From: bob@example.net\r\nSubject: hello\r\n\r\nHi\r\n')
const request: ReadingRequest = {
  content: { kind: 'memory', bytes },
  mailFrom: 'bob@example.net',
  peer: null,
  mayReport: false,
  deliveredTo: [],
}

t.test('small messages are read here, large ones and those of suspects elsewhere', async t => {
  const path = join(temporaryDir(t), 'large')
  writeFileSync(path, bytes)
  const elsewhere: string[] = []
  const suspects = new Set<string>()
  const { read } = createNearReader({
    authenticator: { authenticate: () => Promise.reject(new Error('nobody asked for it')) },
    mark: createThreadMark(),
    suspects,
    async far(_request, party) {
      elsewhere.push(party)
      return {} as Reading
    },
  })
  const { message, isWhole, authentication } = await read(request, 'a')
  t.match({ message, isWhole }, { message: { subject: 'hello' }, isWhole: true })
  t.equal(authentication, null)
  await read({ ...request, content: { kind: 'file', path, sizeBytes: bytes.length, sha256: '' } }, 'b')
  suspects.add('c')
  await read(request, 'c')
  await read(request, 'd')
  t.strictSame(elsewhere, ['b', 'c'])
})

t.test('much text is read elsewhere, and what is attached does not count', async t => {
  const elsewhere: string[] = []
  const { read } = createNearReader({
    authenticator: { authenticate: () => Promise.reject(new Error('nobody asked for it')) },
    mark: createThreadMark(),
    suspects: new Set<string>(),
    async far(_request, party) {
      elsewhere.push(party)
      return {} as Reading
    },
  })
  const head = 'From: bob@example.net\r\n'
  const multipart = `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n`
  const html = `${head}Content-Type: text/html\r\n\r\n`
  const much = nearTextBytes
  const part = (type: string, content: string) => `--b\r\nContent-Type: ${type}\r\n\r\n${content}\r\n`
  const put = (party: string, message: string) =>
    read({ ...request, content: { kind: 'memory', bytes: Buffer.from(message) } }, party)
  await put('little', html + '<ul><li>x'.repeat(1000))
  await put('html', html + '<ul><li>x'.repeat(much / 9 + 1))
  await put('text', `${head}\r\n${'x\r\n'.repeat(much / 3 + 1)}`)
  await put('attached', multipart + part('text/plain', 'Hi') + part('image/png', 'x'.repeat(much)))
  t.strictSame(elsewhere, ['html', 'text'])
})
