import type { InboundFigures } from './inbound.ts'
import type { OutboundFigures } from './outbound.ts'
import { table } from './table.ts'

/** What is measured of mailboxd by itself, empty and with what was stored before. */
export interface OwnFigures {
  readonly text: InboundFigures
  readonly sends: OutboundFigures
  /** Answers a second. */
  readonly list: number
  readonly inbox: number
}

/** One round. */
export interface RoundFigures {
  readonly own: OwnFigures & { readonly signed: InboundFigures; readonly attachment: InboundFigures }
  readonly stored: OwnFigures
  readonly postfix: {
    readonly text: InboundFigures
    readonly signed: InboundFigures
    readonly attachment: InboundFigures
    readonly relaying: OutboundFigures
    readonly signing: OutboundFigures
  }
  /** A bare Koa route. */
  readonly bare: { readonly list: number; readonly inbox: number }
  /** From the start of the process to its greeting: a new installation, and one that is there. */
  readonly firstStartMs: number
  readonly startMs: number
  /** Of `node -e 0` and `mailboxctl key list`, from start to end. */
  readonly nodeMs: number
  readonly keyListMs: number
}

/** What is measured once. */
export interface OnceFigures {
  readonly peers: Readonly<Record<string, InboundFigures>>
  readonly idleBytes: number
  readonly loadedBytes: number
  readonly loadedMessages: number
  /** As `startMs`, with what is stored. */
  readonly storedStartMs: number
  readonly storedMessages: number
  readonly storedInboxes: number
}

interface Line {
  readonly what: string
  readonly own: number
  readonly against: string
  readonly other?: number | undefined
  /** What the aim is about: the ratio, the difference or the figure itself. */
  readonly is: number
  readonly unit: string
  readonly aim: number
  readonly isMost: boolean
}

/** The aims beside what was measured, and what each row cost, as text. */
export function aimTables(figures: RoundFigures, once: OnceFigures): string {
  const { text } = figures.own
  const costs = [
    ['mailboxd, kept connections', text.messages, text.load],
    ['mailboxd, own connections', text.messagesOwnConnection, text.loadOwnConnection],
    ['mailboxd, signed', figures.own.signed.messages, figures.own.signed.load],
    ['mailboxd, 1 MB', figures.own.attachment.messages, figures.own.attachment.load],
    ['mailboxd, sends', figures.own.sends.messages, figures.own.sends.load],
    ['Postfix, kept connections', figures.postfix.text.messages, figures.postfix.text.load],
    [
      'Postfix, own connections',
      figures.postfix.text.messagesOwnConnection,
      figures.postfix.text.loadOwnConnection,
    ],
    ['Postfix, signed', figures.postfix.signed.messages, figures.postfix.signed.load],
    ['Postfix, 1 MB', figures.postfix.attachment.messages, figures.postfix.attachment.load],
    ['Postfix, relaying', figures.postfix.relaying.messages, figures.postfix.relaying.load],
    ['Postfix, signing', figures.postfix.signing.messages, figures.postfix.signing.load],
  ] as const
  const each = (seconds: number, messages: number) => ((seconds * 1000) / messages).toFixed(2)
  return `${table(
    ['', 'mailboxd', 'against', 'it', '', 'aim', ''],
    aimLines(figures, once).map(({ what, own, against, other, is, unit, aim, isMost }) => [
      what,
      number(own),
      against,
      other === undefined ? '' : number(other),
      `${number(is)}${unit}`,
      `${isMost ? '≤' : '≥'} ${number(aim)}${unit}`,
      (isMost ? is <= aim : is >= aim) ? 'met' : 'missed',
    ]),
  )}\n\n${table(
    ['a message', 'CPU ms', 'main thread', 'RSS MB'],
    costs.map(([what, messages, load]) => [
      what,
      each(load.cpuSeconds, messages),
      what.startsWith('mailboxd') ? each(load.mainThreadCpuSeconds, messages) : '',
      number(load.rssBytes / 1024 ** 2),
    ]),
  )}`
}

function aimLines(
  { own, stored, postfix, bare, firstStartMs, startMs, nodeMs, keyListMs }: RoundFigures,
  once: OnceFigures,
): Line[] {
  const times = (what: string, own: number, against: string, other: number, aim: number): Line => ({
    what,
    own,
    against,
    other,
    is: own / other,
    unit: ' ×',
    aim,
    isMost: false,
  })
  const atMost = (
    what: string,
    own: number,
    unit: string,
    aim: number,
    against = '',
    other?: number,
  ): Line => ({
    what,
    own,
    against,
    other,
    is: own - (other ?? 0),
    unit,
    aim,
    isMost: true,
  })
  const mainMs = (seconds: number, messages: number) => (seconds * 1000) / messages
  const megabytes = (bytes: number) => bytes / 1024 ** 2
  const full = `with ${once.storedMessages} messages in ${once.storedInboxes} inboxes`
  return [
    times(
      'inbound a second, kept connections',
      own.text.deliveredPerSecond,
      'Postfix',
      postfix.text.deliveredPerSecond,
      1.6,
    ),
    times(
      'inbound, own connections',
      own.text.acceptedPerSecondOwnConnection,
      'Postfix',
      postfix.text.acceptedPerSecondOwnConnection,
      1.2,
    ),
    times(
      'inbound, SPF, DKIM, DMARC',
      own.signed.deliveredPerSecond,
      'Postfix and helpers',
      postfix.signed.deliveredPerSecond,
      4,
    ),
    times(
      'the same, own connections',
      own.signed.acceptedPerSecondOwnConnection,
      'Postfix and helpers',
      postfix.signed.acceptedPerSecondOwnConnection,
      4,
    ),
    times(
      'inbound, 1 MB with attachment',
      own.attachment.deliveredPerSecond,
      'Postfix',
      postfix.attachment.deliveredPerSecond,
      1,
    ),
    {
      ...times('p99 of the accept, ms', own.text.accept.p99Ms, 'Postfix', postfix.text.accept.p99Ms, 1),
      isMost: true,
    },
    atMost('main thread, kept', mainMs(own.text.load.mainThreadCpuSeconds, own.text.messages), ' ms', 0.3),
    atMost(
      'main thread, own connections',
      mainMs(own.text.loadOwnConnection.mainThreadCpuSeconds, own.text.messagesOwnConnection),
      ' ms',
      0.35,
    ),
    times(
      'sends a second, answered',
      own.sends.sentPerSecond,
      'Postfix relaying',
      postfix.relaying.sentPerSecond,
      1,
    ),
    times(
      'sends, arrived',
      own.sends.arrivedPerSecond,
      'Postfix relaying',
      postfix.relaying.arrivedPerSecond,
      1,
    ),
    times(
      'sends, arrived',
      own.sends.arrivedPerSecond,
      'Postfix signing',
      postfix.signing.arrivedPerSecond,
      3,
    ),
    ...Object.entries(once.peers).map(([name, peer]) =>
      times('inbound, kept connections', own.text.deliveredPerSecond, name, peer.deliveredPerSecond, 1),
    ),
    times('list of 50 a second', own.list, 'bare Koa', bare.list, 0.7),
    times('one inbox a second', own.inbox, 'bare Koa', bare.inbox, 0.8),
    atMost('first start to greeting, ms', firstStartMs, ' ms', 300, 'node -e 0', nodeMs),
    atMost('start to greeting, ms', startMs, ' ms', 300, 'node -e 0', nodeMs),
    atMost('mailboxctl key list, ms', keyListMs, ' ms', 150, 'node -e 0', nodeMs),
    atMost('idle memory, MB', megabytes(once.idleBytes), ' MB', 110),
    atMost(
      `after ${once.loadedMessages} messages, MB`,
      megabytes(once.loadedBytes),
      ' MB',
      60,
      'idle',
      megabytes(once.idleBytes),
    ),
    times(
      `inbound, kept, ${full}`,
      stored.text.deliveredPerSecond,
      'empty',
      own.text.deliveredPerSecond,
      0.85,
    ),
    times(
      'inbound, own connections, so',
      stored.text.acceptedPerSecondOwnConnection,
      'empty',
      own.text.acceptedPerSecondOwnConnection,
      0.85,
    ),
    times('sends, arrived, so', stored.sends.arrivedPerSecond, 'empty', own.sends.arrivedPerSecond, 0.85),
    times('list of 50, so', stored.list, 'empty', own.list, 0.85),
    times('one inbox, so', stored.inbox, 'empty', own.inbox, 0.85),
    atMost('start to greeting, so, ms', once.storedStartMs, ' ms', startMs * 0.15, 'empty', startMs),
  ]
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
