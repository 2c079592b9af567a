import { Readable } from 'node:stream'
import t from 'tap'
import { chunksOf } from '../../lib/base/files.ts'

async function* many() {
  for (;;) yield Buffer.from('x')
}

t.test('a stream that is not read to its end is destroyed, without an error', async t => {
  const stream = Readable.from(many())
  stream.on('error', error => t.fail(error.message))
  for await (const chunk of chunksOf(stream)) {
    t.equal(chunk.toString(), 'x')
    break
  }
  t.equal(stream.destroyed, true)
  t.equal(stream.errored, null)
})

t.test('a stream that breaks off says so', async t => {
  const stream = Readable.from(many())
  const read = async () => {
    for await (const _ of chunksOf(stream)) stream.destroy(new Error('disk fault'))
  }
  await t.rejects(read(), /disk fault/)
})
