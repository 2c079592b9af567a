import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { loadCharsetGuess } from '../../../lib/mail/header/charset-guess.ts'
import { openAttachment, openAttachments, readMessage, textBytesOf } from '../../../lib/mail/message/read.ts'
import { wireNeedsOf } from '../../../lib/mail/message/wire-needs.ts'
import { readMail } from '../../../lib/reading/read-mail.ts'
import { readWritten } from '../../support/halves.ts'
import { byLine, type Facts, sameFacts } from '../../support/kept-facts.ts'
import { messages } from './whole-messages.ts'

const data = new URL('../../data/', import.meta.url)
const guess = await loadCharsetGuess()
const asked = { content: { kind: 'memory', bytes: Buffer.alloc(0) } as const, peer: null, mayReport: true }

/** All that is read of it, as of a message that came to the reverse-path of a delivery to these. */
async function wholeReading(raw: Buffer, deliveredTo: readonly string[], mailFrom: string) {
  const { message, extracted, ...read } = readMail(raw, { ...asked, mailFrom, deliveredTo }, guess)
  const opened = openAttachments(raw)
  return {
    message,
    extracted: JSON.parse(extracted),
    ...read,
    textBytes: textBytesOf(raw),
    opened,
    openedAlone: opened.map((_content, at) => openAttachment(raw, at)?.contentType),
    needs: await wireNeedsOf([raw]),
  }
}

t.test('the messages of other projects', async t => {
  const facts: Facts[] = []
  for (const name of globSync('{bounces/messages/*,arf/*.eml,dkim/*/*.{eml,msg}}', { cwd: data }).sort())
    facts.push([name, await wholeReading(readFileSync(new URL(name, data)), ['kijitora@example.jp'], '')])
  sameFacts(t, 'messages-of-others', facts)
})

t.test('shapes of messages, well formed and not', async t => {
  const facts: Facts[] = []
  for (const [title, raw] of Object.entries(messages))
    facts.push([title, await wholeReading(raw, ['kim@dest.example'], 'ann@example.com')])
  sameFacts(t, 'messages', facts)
})

/** Those whose form says where what they hold ends. */
const cutOff = /report$|uuenc|base64|another|boundary|flowed|quoted|UTF-7|passed|a file|^names/

t.test('shapes of messages, cut off at each line', async t => {
  const read = (beginning: Buffer) => {
    const { text, html, attachments, problems } = readMessage(beginning, guess)
    const names = attachments.map(({ filename, sizeBytes }) => `${filename} ${sizeBytes}`)
    return [...names, ...problems, html.slice(-30), text.slice(-60)].filter(Boolean).join(' | ')
  }
  const chosen = Object.entries(messages).filter(([title]) => cutOff.test(title))
  sameFacts(
    t,
    'messages-cut-off',
    chosen.map(([title, raw]) => [title, byLine(raw, read)]),
  )
})

interface Written {
  readonly id: string
  readonly from?: string
  readonly subject: string
  readonly text: string
}

t.test('written replies, codes and bounces', async t => {
  const facts = ['replies', 'replies-2', 'codes', 'codes-2', 'bounces', 'bounces-2'].flatMap(file =>
    readWritten<Written>(file).map(({ id, from = 'Bob <bob@example.net>', subject, text }): Facts => {
      const word = `=?utf-8?B?${Buffer.from(subject).toString('base64')}?=`
      const head = `From: ${from}\r\nSubject: ${word}\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8`
      const raw = Buffer.from(`${head}\r\n\r\n${text.replaceAll('\n', '\r\n')}`)
      const isBounce = file.startsWith('bounces')
      const deliveredTo = isBounce ? ['kim@dest.example'] : []
      const request = { ...asked, deliveredTo, mailFrom: isBounce ? '' : 'bob@example.net' }
      const { extracted, classified, told, feedback } = readMail(raw, request, guess)
      return [`${file} ${id}`, { ...JSON.parse(extracted), class: Object.values(classified), told, feedback }]
    }),
  )
  sameFacts(t, 'written', facts)
})
