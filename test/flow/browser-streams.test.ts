import t from 'tap'
import { apiOf } from '../support/api.ts'
import { openBrowser } from '../support/browser-session.ts'
import { startDaemon } from '../support/daemon.ts'
import { without } from '../support/peers.ts'
import { submit } from '../support/smtp-client.ts'
import { until } from '../support/until.ts'

t.test("a browser's own EventSource and WebSocket", { skip: without('chromium') }, async t => {
  const daemon = await startDaemon(t)
  const { token } = await daemon.createKey()
  const { address } = (await apiOf(daemon.baseUrl, token).post('/v1/inboxes', {})).body
  const mail = (subject: string) =>
    submit('127.0.0.1', daemon.smtpPort, {
      from: 'bob@example.net',
      to: [address],
      raw: Buffer.from(`From: bob@example.net\r\nTo: ${address}\r\nSubject: ${subject}\r\n\r\nHello\r\n`),
    })
  const browser = await openBrowser(t, true)
  await browser.open(`${daemon.baseUrl}/health`)
  const ws = daemon.baseUrl.replace('http', 'ws')
  await browser.read(`{
    globalThis.seen = { socket: [], source: [], closed: [] }
    const source = new EventSource('/v1/events/stream?token=${token}')
    source.addEventListener('message.received', ({ data, lastEventId }) => seen.source.push([lastEventId, data]))
    source.onopen = () => { seen.isOpen = true }
    const socket = new WebSocket('${ws}/v1/ws?token=${token}')
    socket.onopen = () => socket.send('{"type":"subscribe"}')
    socket.onmessage = ({ data }) => seen.socket.push(data)
    new WebSocket('${ws}/v1/ws?token=mbx_wrong').onclose = ({ code, wasClean }) => seen.closed.push([code, wasClean])
    0
  }`)
  const seen = async () =>
    JSON.parse(await browser.read<string>('JSON.stringify(seen)')) as {
      socket: string[]
      source: [string, string][]
      closed: [number, boolean][]
      isOpen?: boolean
    }
  await until('both to listen', async () => {
    const { isOpen, socket } = await seen()
    return isOpen && socket.length === 1
  })
  t.strictSame((await until('a refusal', async () => (await seen()).closed[0])) ?? [], [4001, true])
  await mail('One')
  await mail('Two')
  const { socket, source } = await until('both to be told', async () => {
    const now = await seen()
    return now.socket.length === 3 && now.source.length === 2 && now
  })
  t.strictSame(JSON.parse(socket[0]!), { type: 'subscribed', inbox_ids: [], event_types: [] })
  const told = socket.slice(1).map(data => JSON.parse(data))
  t.strictSame(
    told.map(event => event.message.subject),
    ['One', 'Two'],
  )
  t.strictSame(
    source.map(([id, data]) => [id, JSON.parse(data)]),
    told.map(event => [event.event_id, event]),
    'the same object over both',
  )
  t.equal(await daemon.end('SIGTERM'), 0)
})
