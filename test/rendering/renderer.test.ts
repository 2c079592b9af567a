import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { sliceBytes } from '../../lib/base/concurrency.ts'
import { createLog } from '../../lib/base/log.ts'
import { renderedHereBytes } from '../../lib/mail/compose/compose.ts'
import { generateDkimKey, signDkim } from '../../lib/mail/compose/dkim.ts'
import { type Composition, compose } from '../../lib/rendering/composition.ts'
import {
  createRenderer,
  lettersAtOnce,
  lettersHere,
  type Renderer,
  type RendererOptions,
} from '../../lib/rendering/renderer.ts'
import { turnsDuring } from '../support/event-loop.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const { privateKeyPem: key } = await generateDkimKey()
const signer = { domain: 'ours.example', selector: 's', privateKeyPem: key, signedAt: new Date(0) }
const large = 4 * sliceBytes

function rendererOf(t: Test, options: Partial<RendererOptions> = {}) {
  const log: string[] = []
  const renderer = createRenderer({
    timeoutMs: 60_000,
    heapBytes: 192 * 1024 * 1024,
    idleMs: 60_000,
    log: createLog('warn', { write: line => void log.push(line) }),
    ...options,
  })
  t.teardown(() => renderer.stop())
  return { renderer, log }
}

function composition(more: Partial<Composition> = {}, content?: Buffer): Composition {
  return {
    parts: {
      from: { address: 'ann@ours.example', name: 'Ann' },
      to: [{ address: 'bob@example.net', name: '' }],
      cc: [],
      replyTo: null,
      subject: 'Hi',
      inReplyTo: null,
      references: [],
      attachments: content ? [{ filename: 'a.bin', contentType: 'text/plain; charset=utf-8', content }] : [],
      autoSubmitted: false,
      date: new Date(0),
      id: 'id',
      messageIdDomain: 'ours.example',
    },
    format: 'auto',
    text: 'Hello',
    html: undefined,
    quoted: null,
    forwarded: null,
    signer,
    ...more,
  }
}

/** The message without its boundaries, which are random. */
const withoutBoundaries = (raw: Buffer) => raw.toString('latin1').replaceAll(/=_[-\w]+/g, '=_')

t.test('what is composed in the thread is what is composed here', async t => {
  const { renderer } = rendererOf(t)
  const bytes = Buffer.alloc(large, 'anything at all')
  const quoted = {
    text: '',
    html: '<p>They wrote</p>'.repeat(2000),
    date: new Date(0),
    from: { address: 'bob@example.net', name: 'Bob' },
  }
  for (const [name, one] of Object.entries({
    'an attachment': () => composition({}, Buffer.from(bytes)),
    'HTML as the text': () => composition({ text: '<p>Hi</p>'.repeat(4000) }),
    'a quote': () => composition({ html: '<p>Hi</p>', quoted }),
  })) {
    const here = await compose(one())
    const there = await renderer.compose(one(), 'a')
    t.ok(Buffer.isBuffer(there.raw), name)
    t.equal(withoutBoundaries(there.raw), withoutBoundaries(here.raw), name)
    t.strictSame({ ...there, raw: 0, signature: 0 }, { ...here, raw: 0, signature: 0 }, name)
    const signed = Buffer.concat([there.signature, there.raw])
    t.ok(signed.equals(await signDkim(there.raw, signer)), `${name}: its signature`)
  }
})

t.test('what is large is not made here', async t => {
  const { renderer } = rendererOf(t)
  const content = Buffer.alloc(large, 'x')
  const html = Buffer.alloc(renderedHereBytes + 1)
  await renderer.compose(composition({}, content), 'a')
  t.equal(content.length, 0, 'its bytes went over into the thread')
  await renderer.compose(composition({ text: '<p>'.repeat(renderedHereBytes) }, html), 'a')
  t.equal(html.length, renderedHereBytes + 1, 'less was copied')
  // Quadratic or not, it is computed where the event loop is another's.
  const { turns } = await turnsDuring(async () => {
    const ticking = { isOver: false }
    const tick = async () => {
      while (!ticking.isOver) await new Promise(resolve => setImmediate(resolve))
    }
    const ticks = tick()
    await renderer.compose(composition({ text: '<b><i><p>'.repeat(100_000) }), 'a')
    ticking.isOver = true
    await ticks
  })
  t.ok(turns > 100, `${turns} turns meanwhile`)
})

const letters = (count: number) =>
  Array.from({ length: count }, (_, n) => composition({ text: `Hello ${n}` }, Buffer.from('few')))

t.test('letters are made here while they are few, and where they are many in a thread', async t => {
  // No thread has started in so short a time.
  const { renderer, log } = rendererOf(t, { timeoutMs: 1 })
  const make = (one: Composition) => renderer.compose(one, 'a')
  await Promise.all(letters(lettersHere).map(make))
  t.same(log, [])
  const many = await Promise.allSettled(letters(lettersHere + 2).map(make))
  t.same(many.filter(({ status }) => status === 'rejected').length, 2)
  t.match(log.join(), /longer than 1 ms/)
  await Promise.all(letters(lettersHere).map(make))
})

t.test('letters from the thread are those that are made here', async t => {
  const { renderer } = rendererOf(t)
  const many = letters(3 * lettersAtOnce)
  const there = await Promise.all(many.map(one => renderer.compose(one, 'a')))
  for (const [n, { raw, signature, body }] of there.entries()) {
    const here = await compose(many[n]!)
    t.equal(withoutBoundaries(raw), withoutBoundaries(here.raw))
    t.same(body, here.body)
    t.ok(Buffer.concat([signature, raw]).equals(await signDkim(raw, signer)))
  }
})

t.test('an attachment out of a raw', async t => {
  const { renderer } = rendererOf(t)
  const bytes = Buffer.alloc(large, 'anything at all')
  const { raw } = await compose(composition({}, bytes))
  const path = join(temporaryDir(t), 'raw')
  writeFileSync(path, raw)
  const file = { kind: 'file', path, sizeBytes: raw.length, sha256: '' } as const
  t.ok((await renderer.openAttachment(file, 0, 'a'))?.equals(bytes))
  t.equal(await renderer.openAttachment(file, 1, 'a'), undefined)
  const letter = await compose(composition({}, Buffer.from('few')))
  const memory = { kind: 'memory', bytes: letter.raw } as const
  t.equal(String(await renderer.openAttachment(memory, 0, 'a')), 'few')
  await t.rejects(renderer.openAttachment({ ...file, path: `${path}-gone` }, 0, 'a'), { message: /ENOENT/ })
})

t.test('what takes too long is refused, and what comes after it is made', async t => {
  const { renderer, log } = rendererOf(t, { timeoutMs: 1 })
  const late = renderer.compose(composition({}, Buffer.alloc(large)), 'a')
  const next = renderer.compose(composition({}, Buffer.alloc(large)), 'a')
  await t.rejects(late, { code: 'unavailable' })
  await t.rejects(next, { code: 'unavailable' })
  t.match(log.join(), /longer than 1 ms/)
})

t.test('what takes too much memory is refused, and what comes after it is made', async t => {
  const { renderer } = rendererOf(t, { heapBytes: 16 * 1024 * 1024 })
  const much = renderer.compose(composition({ text: '<b><i><p>'.repeat(1_000_000) }), 'a')
  const next = renderer.compose(composition({}, Buffer.alloc(large)), 'a')
  await t.rejects(much, { code: 'unavailable' })
  t.ok((await next).raw.length > large)
})

t.test('what can not cross into the thread is refused alone', async t => {
  const { renderer } = rendererOf(t)
  const text = 'x'.repeat(renderedHereBytes + 1)
  const content = Buffer.alloc(large)
  const first = renderer.compose(composition({ text }, content), 'a')
  // Its bytes went over with the first; it comes to its turn when that is answered.
  const queued = renderer.compose(composition({ text }, content), 'a')
  const after = renderer.compose(composition({}, Buffer.alloc(large)), 'a')
  await t.rejects(queued, { name: 'DataCloneError' })
  t.ok((await first).raw.length > large)
  t.ok((await after).raw.length > large)
  await t.rejects(renderer.compose(composition({ text }, content), 'a'), { name: 'DataCloneError' })
  t.ok((await renderer.compose(composition({}, Buffer.alloc(large)), 'a')).raw.length > large, 'at rest, too')
})

t.test('a thread at rest keeps no program from its end, and ends itself after a while', async t => {
  const threads: Worker[] = []
  const note = (worker: Worker) => void threads.push(worker)
  process.on('worker', note)
  t.teardown(() => process.off('worker', note))
  /** Of threads that are waited for. */
  const ports = () => process.getActiveResourcesInfo().filter(kind => kind === 'MessagePort').length
  const make = (renderer: Renderer) => renderer.compose(composition({}, Buffer.alloc(large)), 'a')
  const { renderer } = rendererOf(t)
  for (let count = 0; count < 2; count++) {
    const before = ports()
    const made = make(renderer)
    await Promise.resolve()
    t.ok(ports() > before, 'while it works')
    await made
    t.equal(ports(), before)
  }
  t.equal(threads.length, 1)
  const { renderer: hasty } = rendererOf(t, { idleMs: 1 })
  for (let count = 2; count <= 3; count++) {
    await make(hasty)
    t.equal(threads.length, count)
    await until('its end', () => threads.at(-1)!.threadId === -1)
  }
})

t.test('parties take turns', async t => {
  const { renderer } = rendererOf(t)
  const order: string[] = []
  const one = async (party: string) => {
    await renderer.compose(composition({}, Buffer.alloc(large)), party)
    order.push(party)
  }
  await Promise.all([one('a'), one('a'), one('a'), one('b')])
  t.ok(order.indexOf('b') < 3, order.join(' '))
})

t.test('nothing is left waiting when it is stopped', async t => {
  const { renderer } = rendererOf(t)
  const all = ['a', 'b'].map(party => renderer.compose(composition({}, Buffer.alloc(large)), party))
  for (const one of all) one.catch(() => {})
  await renderer.stop()
  for (const one of all) await t.rejects(one, { code: 'unavailable' })
})
