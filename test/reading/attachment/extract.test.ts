import { readFileSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import { deflateRawSync, deflateSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { attachmentTextLength } from '../../../lib/base/lengths.ts'
import { collectText } from '../../../lib/reading/attachment/collected.ts'
import { archiveEntries } from '../../../lib/reading/attachment/extract.ts'
import {
  createTextReader,
  type TextReader,
  type TextReaderOptions,
} from '../../../lib/reading/attachment/text-reader.ts'
import { hostilePdf, zipOf } from '../../support/hostile-attachments.ts'
import { until } from '../../support/until.ts'

const types: Record<string, string> = { pdf: 'application/pdf', docx: 'application/octet-stream' }

function reader(changes: Partial<TextReaderOptions> = {}): TextReader {
  const made = createTextReader({
    timeoutMs: 60_000,
    heapBytes: 192 * 1024 * 1024,
    waiting: 100,
    waitMs: 60_000,
    idleMs: 60_000,
    ...changes,
  })
  t.teardown(() => made.stop())
  return made
}

/** A message with one attachment. */
function messageWith(filename: string, content: Buffer, contentType?: string): Buffer {
  const type = contentType ?? types[filename.split('.').at(-1)!] ?? 'application/octet-stream'
  return Buffer.from(
    `From: a@example.net\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nHello\r\n--x\r\nContent-Type: ${type}\r\nContent-Disposition: attachment; filename="${filename}"\r\nContent-Transfer-Encoding: base64\r\n\r\n${content.toString('base64')}\r\n--x--\r\n`,
  )
}

const shared = reader()
const read = (filename: string, content: Buffer | string, contentType?: string, by = shared) =>
  by.read(
    {
      content: { kind: 'memory', bytes: messageWith(filename, Buffer.from(content as Buffer), contentType) },
      index: 0,
    },
    'one',
  )
const sample = (name: string) => readFileSync(new URL(`data/${name}`, import.meta.url))

t.test('files of real programs', async t => {
  const pdf = (await read('invoice.pdf', sample('invoice.pdf')))!
  t.equal(pdf.extractionMethod, 'pdf')
  t.match(pdf.text, /^Invoice 2026-11\nSeventy-two tons of fish – für Köln\.\nHerring 3 €\s+Second page\.$/)
  const docx = (await read('report.docx', sample('report.docx')))!
  t.equal(docx.extractionMethod, 'office')
  t.match(
    docx.text,
    /^Quarterly report\nSeventy-two tons of fish – für Köln\.\nTab\tstop\nnext line\nItem\tPrice\t\nHerring\t3 €$/,
  )
  const xlsx = (await read('prices.xlsx', sample('prices.xlsx')))!
  t.match(xlsx.text, 'Prices\nItem\tPrice\tIn stock\nHerring\t3.5\tTRUE\nCod & chips <big>\t12\tFALSE\n')
  t.match(xlsx.text, /\nNotes\n\t只有鱼$/)
  const pptx = (await read('talk.pptx', sample('talk.pptx')))!
  t.match(pptx.text, /^Fish for everybody\nfirst point\nsecond point\n[\s\S]*Slide two – 魚/)
})

t.test('text, CSV and HTML in their charsets', async t => {
  const text = async (name: string, content: Buffer | string, type: string) => {
    const got = (await read(name, content, type))!
    return [got.extractionMethod, got.text]
  }
  t.strictSame(await text('a.csv', 'a;b\r\n1;2\r\n', 'application/vnd.ms-excel'), ['csv', 'a;b\n1;2\n'])
  t.strictSame(await text('a.csv', Buffer.from('K\xf6ln', 'latin1'), 'text/csv'), ['csv', 'Köln'])
  const marked = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('Köln', 'utf16le')])
  t.strictSame(await text('a.csv', marked, 'text/csv'), ['csv', 'Köln'])
  t.strictSame(await text('a.txt', '\ufeffx\0y', 'text/plain'), ['text', 'xy'])
  t.strictSame(await text('a.json', '{"a":1}', 'application/octet-stream'), ['text', '{"a":1}'])
  const html = Buffer.from(
    '<meta charset="windows-1251"><p>\xcf\xf0\xe8\xe2\xe5\xf2<script>x()</script>',
    'latin1',
  )
  for (const type of ['text/html', 'text/html; charset=us-ascii', 'text/html; charset=windows-1251'])
    t.strictSame(await text('a.html', html, type), ['html', 'Привет'], type)
  t.strictSame(await text('a.html', html, 'text/html; charset=iso-8859-1'), ['html', 'Ïðèâåò'])
  t.strictSame(await text('a.png', 'x', 'image/png'), ['unsupported', null])
  const long = (await read('a.txt', 'x'.repeat(attachmentTextLength + 5), 'text/plain'))!
  t.equal(long.text?.length, attachmentTextLength)
})

t.test('of pieces as much is kept as may be, wherever the last one begins', async t => {
  for (const [length, wanted] of [
    [0, ''],
    [2, 'ab'],
    [3, 'abc'],
    [4, 'abcd'],
    [6, 'abcdef'],
    [7, 'abcdef'],
  ] as const) {
    const kept = collectText(length)
    const answers = ['abc', '', 'def', ''].map(piece => kept.add(piece))
    t.strictSame(answers, [length > 3, length > 3, length > 6, length > 6], `${length}`)
    t.equal(kept.isFull, length <= 6)
    t.equal(kept.add('longer than all before'), false)
    t.equal(kept.text().slice(0, 6), wanted)
    t.ok(kept.text().length <= length)
  }
})

t.test('what is broken or hostile is an error, and what comes after it is read', async t => {
  const spaces = (count: number) => Buffer.alloc(count, 0x20)
  const once = deflateSync(spaces(400e6))
  const inflated = deflateRawSync(spaces(100e6))
  const sheet = 'xl/worksheets/sheet1.xml'
  for (const [name, content] of [
    ['empty.pdf', ''],
    ['text.pdf', 'This is no PDF.'],
    ['cut.pdf', sample('invoice.pdf').subarray(0, 900)],
    ['bomb.pdf', hostilePdf(once, '/FlateDecode')],
    ['twice.pdf', hostilePdf(deflateSync(once), '[/FlateDecode /FlateDecode]')],
    [
      'runs.pdf',
      hostilePdf(
        deflateSync(Buffer.alloc(4e6, Buffer.from([0x81, 0x20]))),
        '[/FlateDecode /RunLengthDecode]',
      ),
    ],
    ['empty.docx', ''],
    ['text.docx', 'PK\x03\x04 and nothing'],
    ['other.docx', zipOf([['readme.txt', Buffer.from('x')]])],
    ['bomb.docx', zipOf([['word/document.xml', inflated, 100e6]])],
    ['liar.docx', zipOf([['word/document.xml', inflated, 10]])],
    [
      'bomb.xlsx',
      zipOf([
        ['xl/workbook.xml', Buffer.from('<workbook/>')],
        ['xl/sharedStrings.xml', inflated, 100e6],
        [sheet, inflated, 100e6],
      ]),
    ],
    ['many.docx', zipOf(Array.from({ length: archiveEntries + 1 }, (_, at) => [`${at}`, Buffer.from('')]))],
  ] as const) {
    const got = (await read(name, content as Buffer))!
    if (name.endsWith('.pdf') && got.extractionMethod === 'pdf')
      t.equal(got.text?.trim(), '', `${name} says nothing`)
    else t.strictSame(got, { extractionMethod: 'error', text: null }, name)
    t.equal((await read('a.txt', 'good', 'text/plain'))?.text, 'good', `after ${name}`)
  }
  const entities = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><d><t>&b;</t></d>'
  const declared = (await read('e.docx', zipOf([['word/document.xml', Buffer.from(entities)]])))!
  t.notMatch(declared.text, 'aaaa', 'what a DOCTYPE declares is not read')
  const document = (xml: string) => read('d.docx', zipOf([['word/document.xml', Buffer.from(xml)]]))
  const refused = { extractionMethod: 'error', text: null }
  t.equal((await document(`${'<p>'.repeat(200)}<t>x</t>`))?.text, 'x')
  t.strictSame(await document(`<t>x</t>${'<p>'.repeat(100_000)}`), refused, 'too many levels')
  const attributes = Array.from({ length: 1000 }, (_, at) => `a${at}="" `).join('')
  t.strictSame(await document(`<t>x</t><p ${attributes}>`), refused, 'too many attributes')
  t.equal(
    (await document(`<d>${'<p></p>'.repeat(1000)}<t>x</t></d>`))?.text,
    'x',
    'one after the other are no levels',
  )
  t.equal(process.resourceUsage().maxRSS < 1_500_000, true, 'all of it within memory')
})

const endless = hostilePdf(
  deflateSync(Buffer.from(`BT /F1 12 Tf 1 1 Td ${'(A) Tj '.repeat(2e6)} ET`)),
  '/FlateDecode',
)
const plain = (by: TextReader) => read('a.txt', 'x', 'text/plain', by)
const good = { extractionMethod: 'text', text: 'x' }
const unavailable = { code: 'unavailable' }

t.test('one that is late is ended, and others wait for their turn or are refused', async t => {
  const hasty = reader({ timeoutMs: 100, waiting: 4 })
  const late = read('late.pdf', endless, undefined, hasty)
  const waiting = [1, 2].map(() => plain(hasty))
  await t.rejects(plain(hasty), unavailable, 'half is for one party')
  t.strictSame(await late, { extractionMethod: 'error', text: null })
  t.strictSame(await Promise.all(waiting), Array(2).fill(good))
  await hasty.stop()
  await t.rejects(plain(hasty), unavailable)
})

t.test('who waits for too long is refused, and so are all when it stops', async t => {
  const busy = reader({ timeoutMs: 500, waiting: 2, waitMs: 1 })
  const late = read('late.pdf', endless, undefined, busy)
  for (let count = 0; count < 3; count++) await t.rejects(plain(busy), unavailable)
  t.strictSame(await late, { extractionMethod: 'error', text: null })
  t.strictSame(await plain(busy), good, 'who was refused has no place any more')
  const stopped = reader()
  const all = [read('late.pdf', endless, undefined, stopped), plain(stopped), plain(stopped)]
  const refused = Promise.all(all.map(one => t.rejects(one, unavailable)))
  await stopped.stop()
  await refused
})

t.test('slow attachments of one party do not hold up another', async t => {
  const made = reader()
  const slow = [1, 2].map(() => read('late.pdf', endless, undefined, made))
  const ended = Promise.all(slow.map(one => t.rejects(one, unavailable)))
  const content = { kind: 'memory', bytes: messageWith('a.txt', Buffer.from('x'), 'text/plain') } as const
  t.strictSame(await made.read({ content, index: 0 }, 'another'), good)
  await made.stop()
  await ended
})

/** Threads that read attachments, as they are started. */
function startedThreads(t: Test): Worker[] {
  const threads: Worker[] = []
  const note = (worker: Worker) => {
    if (worker.threadName === 'attachments') threads.push(worker)
  }
  process.on('worker', note)
  t.teardown(() => process.off('worker', note))
  return threads
}

t.test('the thread ends without work, and the next attachment has another', async t => {
  const threads = startedThreads(t)
  const resting = reader({ idleMs: 1 })
  for (let count = 1; count <= 2; count++) {
    t.strictSame(await plain(resting), good)
    t.equal(threads.length, count)
    await until('the thread gone', () => threads.at(-1)!.threadId === -1)
  }
  // One that comes while it ends is not read by it.
  let again: Promise<unknown> | undefined
  process.once('worker', (worker: Worker) => {
    const terminate = worker.terminate.bind(worker)
    worker.terminate = () => {
      again ??= plain(resting)
      return terminate()
    }
  })
  t.strictSame(await plain(resting), good)
  await until('its end', () => again !== undefined)
  t.strictSame(await again, good)
})

t.test('a thread that has work again is not at rest', async t => {
  const threads = startedThreads(t)
  const made = reader({ idleMs: 20, timeoutMs: 500 })
  t.strictSame(await plain(made), good)
  t.strictSame(await read('late.pdf', endless, undefined, made), { extractionMethod: 'error', text: null })
  t.equal(threads.length, 1)
})

t.test('a thread that dies at rest is followed by another', async t => {
  const threads = startedThreads(t)
  const made = reader()
  t.strictSame(await plain(made), good)
  await threads[0]!.terminate()
  t.strictSame(await plain(made), good)
  t.equal(threads.length, 2)
})
