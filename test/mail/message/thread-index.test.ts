import t from 'tap'
import { readThreadIndex } from '../../../lib/mail/message/thread-index.ts'

const id = '00112233445566778899aabbccddeeff'
const head = Buffer.from(`01d8c0ffee00${id}`, 'hex')
const reply = Buffer.from('0011223344', 'hex')
const written = (...pieces: Buffer[]) => Buffer.concat(pieces).toString('base64')

t.test('the id of a conversation, and whether a message answers in it', async t => {
  t.strictSame(readThreadIndex(written(head)), { id, isReply: false })
  t.strictSame(readThreadIndex(written(head, reply)), { id, isReply: true })
  t.strictSame(readThreadIndex(written(head, reply, reply).replace(/(.{30})/, '$1\r\n ')), {
    id,
    isReply: true,
  })
  for (const none of [
    '',
    'AQ==',
    written(head).slice(0, 20),
    written(head, Buffer.alloc(3)),
    written(Buffer.from([0]), head.subarray(1)),
    `${written(head)}!`,
    written(head, ...Array.from({ length: 400 }, () => reply)),
    'A'.repeat(100_000),
  ]) {
    t.equal(readThreadIndex(none), null, none.slice(0, 40))
  }
})
