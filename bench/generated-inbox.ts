import { v7 } from 'uuid'
import { addToInbox } from '../lib/store/inboxes.ts'
import { insertMessage, insertReading } from '../lib/store/messages.ts'
import type { Store } from '../lib/store/open.ts'
import { indexMessages } from '../lib/store/search/full-text.ts'
import { wordsOfRow } from '../lib/store/search/row-words.ts'
import type { InboxRow } from '../lib/store/tables.ts'
import { insertUncountedThreads } from '../lib/store/threads.ts'
import { dropUnindexed } from '../lib/store/unindexed-bodies.ts'
import { insertInstallation } from '../test/support/rows.ts'

const writeRows = 500
const vocabulary = Array.from({ length: 20_000 }, (_, n) => `w${n.toString(36)}`)

/** Text of about a hundred words, the frequent ones far more often; in every message hello, alpha in a tenth. */
export function generatedText(n: number): string {
  let seed = n + 1
  const random = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return seed / 0x7fff_ffff
  }
  const words = Array.from({ length: 100 }, () => vocabulary[Math.floor(random() ** 3 * vocabulary.length)]!)
  if (n % 10 === 0) words.push('alpha')
  if (n % 50 === 0) words.push('请查收附件中的发票')
  return ['hello', ...words.slice(0, -1), 'kind regards', words.at(-1)].join(' ')
}

/** An inbox with messages as they come in, two in a thread, one a second from the first of January 2026. */
export async function fillInbox(store: Store, count: number): Promise<InboxRow> {
  const { inbox } = await store.write(insertInstallation)
  for (let first = 0; first < count; first += writeRows) {
    await store.write(async db => {
      let threadId = ''
      for (let n = first; n < Math.min(first + writeRows, count); n++) {
        const createdAt = new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString()
        if (n % 2 === 0) {
          threadId = v7()
          await addToInbox(db, inbox.id, { threads: 1, unreadThreads: n % 4 === 0 ? 0 : 1 })
          await insertUncountedThreads(db, [
            {
              id: threadId,
              inboxId: inbox.id,
              subject: `report ${n}`,
              isRead: n % 4 === 0 ? 1 : 0,
              messageCount: 2,
              lastMessageAt: createdAt,
              createdAt,
              conversation: null,
              participants: '["bob@example.net"]',
            },
          ])
        }
        const id = v7()
        const reading = {
          bodyText: generatedText(n),
          bodyHtml: '',
          attachments:
            n % 20 === 0 ? '[{"filename":"a.pdf","contentType":"application/pdf","sizeBytes":1}]' : '[]',
          extracted: '{"replyText":null,"otp":null,"links":[]}',
          parseProblems: '[]',
        }
        const row = {
          id,
          inboxId: inbox.id,
          threadId,
          direction: 'inbound',
          status: 'received',
          rawId: null,
          rfcMessageId: `<${n}@example.net>`,
          inReplyTo: null,
          references: '[]',
          mailFrom: 'sender@example.net',
          trace: '',
          fromAddr: `sender${n % 1000}@example.net`,
          toAddr: inbox.address,
          headerTo: inbox.address,
          deliveryRole: 'to',
          replyTo: null,
          cc: '[]',
          bcc: '[]',
          addressNames: null,
          subject: `report ${n}`,
          category: n % 3 === 0 ? 'automated' : 'personal',
          autoReplyable: 1,
          verdict: 'clean',
          authentication: '{"spf":"pass","dkim":"pass","dmarc":"pass"}',
          createdAt,
          readingId: id,
          fromProven: 1,
          isNewInThread: 0,
          autoReplyReason: 'person',
        }
        await insertReading(db, { id, ...reading })
        await insertMessage(db, { row, inbox, attachmentBytes: n % 20 === 0 ? 1 : 0, storedBytes: 0 })
        await addToInbox(db, inbox.id, { inbound: 1 })
        // As the follower would, which is not what is measured.
        await indexMessages(db, [
          {
            ...row,
            podId: inbox.podId,
            words: wordsOfRow({ ...row, ...reading }),
            hasAttachments: n % 20 === 0,
          },
        ])
        await dropUnindexed(db, [id])
      }
    })
  }
  return inbox
}
