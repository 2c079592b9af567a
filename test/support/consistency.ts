import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../lib/base/clock.ts'
import { openStore } from '../../lib/store/open.ts'
import { until } from './until.ts'

/** What contradicts itself still after a start has had its time to clean up. */
export async function settledContradictions(dataDir: string): Promise<string[]> {
  let found: string[] = []
  const look = async () => {
    found = await findContradictions(dataDir)
    return found.length === 0
  }
  await until('nothing to contradict itself', look).catch(error => {
    if (found.length === 0) throw error
  })
  return found
}

/**
 * Everything that contradicts itself in a data directory: rows that point to nothing, counters that count wrong, bytes
 * without a row or a row without its bytes. Nothing of it may ever be there, whenever the daemon was killed. Asked
 * while the daemon runs and nothing is under way, or while it is down.
 */
export async function findContradictions(dataDir: string): Promise<string[]> {
  const store = await openStore(join(dataDir, 'mailboxd.sqlite'), systemClock)
  try {
    const { read } = store
    const found: string[] = []
    const messages = await read
      .selectFrom('message')
      .select(['id', 'inboxId', 'threadId', 'direction', 'status', 'rawId'])
      .execute()
    const threads = await read.selectFrom('thread').selectAll().execute()
    const inboxes = await read.selectFrom('inbox').selectAll().execute()
    const raws = await read.selectFrom('raw').selectAll().execute()
    const events = await read.selectFrom('event').select(['type', 'messageId']).execute()
    const deliveries = [
      ...(await read.selectFrom('delivery').select(['id', 'state']).execute()),
      ...(await read.selectFrom('webhookDelivery').select(['id', 'state']).execute()),
    ]
    const entries = await read.selectFrom('queueEntry').select(['subjectId']).execute()

    for (const inbox of inboxes) {
      const own = messages.filter(message => message.inboxId === inbox.id)
      const ownThreads = threads.filter(thread => thread.inboxId === inbox.id)
      const counted = {
        inboundCount: own.filter(message => message.direction === 'inbound').length,
        outboundCount: own.filter(message => message.direction === 'outbound').length,
        threadCount: ownThreads.length,
        unreadThreadCount: ownThreads.filter(thread => thread.isRead === 0).length,
      }
      for (const [name, count] of Object.entries(counted)) {
        const said = inbox[name as keyof typeof counted]
        if (said !== count) found.push(`${inbox.address}: ${name} is ${said}, there are ${count}`)
      }
    }
    for (const thread of threads) {
      const count = messages.filter(message => message.threadId === thread.id).length
      if (thread.messageCount !== count) {
        found.push(`thread ${thread.id}: messageCount is ${thread.messageCount}, there are ${count}`)
      }
    }
    const rawIds = new Set(raws.map(raw => raw.id))
    const used = new Set(messages.map(message => message.rawId))
    const received = new Set(
      events.filter(event => event.type === 'message.received').map(event => event.messageId),
    )
    for (const message of messages) {
      if (message.rawId === null || !rawIds.has(message.rawId)) found.push(`message ${message.id} has no raw`)
      if (message.direction === 'inbound' && !received.has(message.id)) {
        found.push(`message ${message.id} has no event`)
      }
    }
    for (const delivery of deliveries) {
      const isOver = ['delivered', 'failed', 'cancelled'].includes(delivery.state)
      const isQueued = entries.some(entry => entry.subjectId === delivery.id)
      if (isOver === isQueued) found.push(`delivery ${delivery.id} is ${delivery.state}, queued: ${isQueued}`)
    }
    const files = new Map(
      readdirSync(join(dataDir, 'raw'), { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(entry => [entry.name, statSync(join(entry.parentPath, entry.name)).size]),
    )
    for (const raw of raws) {
      const size = raw.content === null ? files.get(raw.id) : raw.content.length
      if (size !== raw.sizeBytes) found.push(`raw ${raw.id} is to have ${raw.sizeBytes} bytes, has ${size}`)
      if (!used.has(raw.id)) found.push(`raw ${raw.id} is of no message`)
    }
    const drafted = await read.selectFrom('draftAttachment').select('id').execute()
    for (const { id } of drafted) rawIds.add(id)
    for (const name of files.keys()) if (!rawIds.has(name)) found.push(`file ${name} is of no raw`)
    for (const name of readdirSync(join(dataDir, 'spool'))) found.push(`spool file ${name}`)
    return found
  } finally {
    await store.close()
  }
}
